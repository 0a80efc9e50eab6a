// Removing carries of loops, and results of other ops with regions.
#pragma once

#include "ir/module.h"

namespace spmd {

// A carry of a loop is operand i, result i, argument i of both regions and operand i of the body's
// return. Drops the uses that the marked carries have through the op itself and the return; then,
// once nothing else uses them, erase_carries() removes results and arguments.
void detach_carries(Function& fn, OpId while_op, const std::vector<bool>& remove);
void erase_carries(Function& fn, OpId while_op, const std::vector<bool>& remove);

// `values` without the marked entries.
std::vector<ValueId> without(const std::vector<ValueId>& values, const std::vector<bool>& remove);
void erase_results(Function& fn, OpId id, const std::vector<bool>& remove);
void erase_arguments(Function& fn, BlockId id, const std::vector<bool>& remove);

}  // namespace spmd
