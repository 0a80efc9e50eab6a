// Index bounds: for which values an integer argument means something, as far as its uses say.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/module.h"

namespace spmd {

// Of each argument of main(): a bound such that all numbers of [0, bound) select an element, a
// slice or a class wherever the argument is used for that; 0 where it is not, or is no integer.
// Uses are
//  - indices of gather, scatter, dynamic_slice and dynamic_update_slice: positions where the window
//    lies inside;
//  - comparisons for equality with an iota, which make one-hot vectors: the iota's size;
//  - the number of a branch of case;
// of the argument itself, of its parts, and of what conversions, clamps and selects make of it (as
// exporters write negative indices: select(x < 0, x + n, x)). Values are followed into loops and
// manual computations, not out of them. Calls are inlined.
std::vector<int64_t> index_bounds(const Module& module);

}  // namespace spmd
