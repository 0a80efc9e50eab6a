// split_reductions: reductions with few results, in two steps.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Independent pieces of work, of a warp or a block each, that keep a GPU busy: some for each of its
// multiprocessors.
inline constexpr int64_t kGpuParallelism = 256;

// Does: a reduction of many elements to few results (the column sums that are a bias's gradient, a
// norm over all parameters) becomes one of parts of each result's elements, and a small one of the
// parts' results; enough parts that each can be a block's work. Floats of 16 bits stay float32 in
// between. The parts depend on the shape only, so the order of summation is fixed.
// Assumes: local types (localize).
// Ensures: the same values but for the order of combination.
// Here: last, on GPUs only, since simplify would have nothing to gain; a CPU's cores are few.
Pass split_reductions_pass();

}  // namespace spmd
