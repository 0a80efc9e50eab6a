#include "passes/rewrite/loop_carries.h"

namespace spmd {

std::vector<ValueId> without(const std::vector<ValueId>& values, const std::vector<bool>& remove) {
  std::vector<ValueId> kept;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!remove[i]) kept.push_back(values[i]);
  }
  return kept;
}

void erase_results(Function& fn, OpId id, const std::vector<bool>& remove) {
  for (size_t i = remove.size(); i-- > 0;) {
    if (remove[i]) fn.erase_result(id, i);
  }
}

void erase_arguments(Function& fn, BlockId id, const std::vector<bool>& remove) {
  for (size_t i = remove.size(); i-- > 0;) {
    if (remove[i]) fn.erase_block_argument(id, i);
  }
}

void detach_carries(Function& fn, OpId while_op, const std::vector<bool>& remove) {
  fn.set_operands(while_op, without(fn.op(while_op).operands, remove));
  const OpId last = fn.terminator(fn.op(while_op).regions[1]);
  fn.set_operands(last, without(fn.op(last).operands, remove));
}

void erase_carries(Function& fn, OpId while_op, const std::vector<bool>& remove) {
  erase_results(fn, while_op, remove);
  for (BlockId region : fn.op(while_op).regions) erase_arguments(fn, region, remove);
}

}  // namespace spmd
