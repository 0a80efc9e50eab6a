// hoist_reshards: send the small things a value is made of rather than the value.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: where a reshard of a value costs more than resharding what it was computed from and
// computing it again in the new placement, does that: reshard(broadcast(x)) becomes
// broadcast(reshard(x)), reshard(convert(x)) of a widening conversion becomes convert(reshard(x)),
// a mask is built from its indices. Looks several cheap ops up.
// Assumes: placements agree (insert_reshards).
// Ensures: the same, in less communication and computation by the cost model.
// Here: after reductions are settled, before padding.
Pass hoist_reshards_pass();

}  // namespace spmd
