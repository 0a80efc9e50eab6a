// Regions that work on scalars.
#pragma once

#include "ir/module.h"

namespace spmd {

// Whether the region is called for elements (a reducer, a comparator), unlike those of control flow
// and manual computations, which hold ops on tensors. False for a function's body.
bool is_reducer_region(const Function& fn, BlockId region);

}  // namespace spmd
