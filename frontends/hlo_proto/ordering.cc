// Opcodes of the ordering family.
#include "frontends/hlo_proto/handlers.h"
#include "frontends/hlo_proto/top_k.h"

namespace spmd::hlo_proto {
namespace {

void sort(Emitter& emitter, const Instruction& instruction, OpCode code) {
  SortAttrs attrs;
  emitter.require(instruction, instruction.dimensions_size() == 1, "has not one dimension");
  attrs.dim = instruction.dimensions(0);
  attrs.is_stable = instruction.is_stable();
  const Computation& comparator =
      emitter.context().computations.called(emitter.computation(), instruction, 0);
  const OpId op = emitter.create(instruction, code, emitter.all_operands(), attrs);
  emitter.add_region(op, comparator);
}

void top_k(Emitter& emitter, const Instruction& instruction, OpCode) {
  emit_top_k(emitter, instruction, instruction.k(), instruction.largest());
}

}  // namespace

void emit_top_k(Emitter& emitter, const Instruction& instruction, int64_t k, bool largest) {
  if (!largest) {
    emitter.fail(instruction, "selects the smallest elements, which is not supported",
                 "negate the operand and take the largest");
  }
  emitter.create(instruction, OpCode::kTopK, {emitter.operand(0)}, TopKAttrs{k});
}

std::span<const Handler> ordering_handlers() {
  static constexpr Handler kHandlers[] = {
      {"sort", sort, OpCode::kSort},
      {"topk", top_k, OpCode::kTopK},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
