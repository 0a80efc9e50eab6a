// Computes values again where they are read, instead of writing them to memory and reading them
// there: what a backward pass needs of the forward one, where that costs less traffic.
//
// A rewrite of emitted steps after rows are fused and before storages are coalesced. For each
// Elementwise or Fused step, what it reads is traced back through the scalar programs of the steps
// before it. Of all sets of stored values from which its operands can be computed, the one that
// moves the fewest bytes is found as a minimum cut: a value costs its bytes once, and twice when it
// would lie in memory for this step only. (Torch's AOTAutograd partitions forward from backward
// likewise.) What is behind the cut becomes Elementwise steps in front of the step's own, in one
// Fused step with them. Outputs that nobody reads any more are dropped.
//
// Only elementwise arithmetic is done again, in the same order, so that numbers do not change.
#pragma once

#include "codegen/buffers.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// Rewrites steps of `body` itself, not those inside of loops and branches, where at least
// `least_gain` bytes of traffic are spared.
void recompute(plan::Sequence& body, StorageTable& storages, int64_t least_gain);

}  // namespace spmd::codegen
