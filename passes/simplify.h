// simplify: local rewrites until none applies.
//
// Does:    algebraic identities, ops on shapes that cancel, reductions of single elements, sums of
//          disjoint pads, slices and branches at constant places, and constant folding (small
//          constants; splats of any size, which stay splats). See passes/rewrite/patterns.h.
// Assumes: nothing; works on partitioned modules as well.
// Ensures: values are the same but for the sign of zeros. Sharding annotations stay on the values
//          that they were written on: a rewrite that would lose one does not happen.
// Why here: after inline_calls, so that constants passed to functions are seen; before
//          propagation, so that fewer ops stand between tensors that share a sharding. Linear in
//          the ops, as each rewrite makes the module smaller.
#pragma once

#include "passes/pass.h"

namespace spmd {

Pass simplify_pass();

}  // namespace spmd
