// Opcodes of the reduction family.
#include "frontends/hlo_proto/handlers.h"

namespace spmd::hlo_proto {
namespace {

void reduce(Emitter& emitter, const Instruction& instruction, OpCode code) {
  ReduceAttrs attrs{Dims(instruction.dimensions().begin(), instruction.dimensions().end())};
  const Computation& reducer =
      emitter.context().computations.called(emitter.computation(), instruction, 0);
  const OpId op = emitter.create(instruction, code, emitter.all_operands(), std::move(attrs));
  emitter.add_region(op, reducer);
}

}  // namespace

std::span<const Handler> reduction_handlers() {
  static constexpr Handler kHandlers[] = {
      {"reduce", reduce, OpCode::kReduce},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
