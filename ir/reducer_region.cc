#include "ir/reducer_region.h"

namespace spmd {

bool is_reducer_region(const Function& fn, BlockId region) {
  const OpId parent = fn.block(region).parent;
  if (parent == OpId::kNone) return false;
  const OpCode code = fn.op(parent).code;
  return family_of(code) != OpFamily::kControlFlow && code != OpCode::kManualComputation;
}

std::optional<OpCode> component_reducer(const Function& fn, BlockId region, size_t i) {
  const Block& block = fn.block(region);
  const size_t count = block.args.size() / 2;
  const Op* op = fn.def(fn.op(block.last).operands[i]);
  if (op == nullptr || op->operands.size() != 2 || !is_commutative(op->code)) return std::nullopt;
  const ValueId a = block.args[i], b = block.args[count + i];
  const bool straight = op->operands[0] == a && op->operands[1] == b;
  const bool swapped = op->operands[0] == b && op->operands[1] == a;
  if (!straight && !swapped) return std::nullopt;
  return op->code;
}

}  // namespace spmd
