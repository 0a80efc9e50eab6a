// recompute_residuals: what a scan keeps for its backward pass and need not.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: a scan writes values of each iteration into stacks, which the loop of the backward pass
// reads slice by slice. Where a stack is several times as large as what its slices can be computed
// from (probabilities of attention, from queries and keys), the backward loop computes them again
// from the slices of other stacks. What is then only read by nobody goes (dce). Assumes: loops
// without carries that do not change (hoist_loop_invariants). Ensures: the same values. Here:
// before raise_attention, which needs a layer's whole backward pass in one block.
Pass recompute_residuals_pass();

}  // namespace spmd
