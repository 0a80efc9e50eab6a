// Regions that work on scalars.
#pragma once

#include <optional>

#include "ir/module.h"

namespace spmd {

// Whether the region is called for elements (a reducer, a comparator), unlike those of control flow
// and manual computations, which hold ops on tensors. False for a function's body.
bool is_reducer_region(const Function& fn, BlockId region);

// Of a reducer of several values, the binary op that makes result `i` of the i-th values alone;
// nullopt when it is made in another way.
std::optional<OpCode> component_reducer(const Function& fn, BlockId region, size_t i);

}  // namespace spmd
