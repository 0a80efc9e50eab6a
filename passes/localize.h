// localize: from global to per-rank shapes.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: rewrites main() to the shapes that one rank holds, turns every reshard into the cheapest
// sequence of collectives and local slices (collectives/planning), gives indexed gathers and
// scatters local indices, and inlines manual computations.
// Assumes: placements agree (insert_reshards) and every size divides by its shards (pad_uneven).
// Ensures: no spmd.reshard, sdy.manual_computation or sharding on inner values; collectives name
// mesh axes; argument_info and result_info keep global shapes and shardings.
// Here: the last stage that knows global shapes. Full rematerialisations are remarked.
Pass localize_pass();

}  // namespace spmd
