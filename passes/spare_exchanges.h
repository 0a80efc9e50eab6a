// spare_exchanges: gather before an op rather than behind it.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: where every device comes to need all of what an exchange of rows leads to, and computing
// that from gathered operands costs less than exchange and gather together, does that; users of
// blocks take them from the whole.
// Assumes: placements agree (insert_reshards).
// Ensures: the same, in less communication and computation by the cost model. Leaves ops without
// users behind.
// Here: after hoist_reshards, which finds what values are gathered at best, and before it once
// more, for the operands that are gathered now.
Pass spare_exchanges_pass();

}  // namespace spmd
