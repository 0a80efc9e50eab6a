// pad_uneven: makes every sharded size divide.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: gives dimensions that some op or reshard cuts into shards that do not divide them a larger,
// padded size. Dimensions tied by factors form a class and grow by one common ratio, so that blocks
// line up everywhere and survive reshapes; the tail is padding with arbitrary content. Ops that mix
// elements along a padded dimension get a mask (reductions: the identity; scatters: an index out of
// range; gathers: indices clamped to the true size), and ops that need the true size get a slice.
// Assumes: placements agree (insert_reshards).
// Ensures: every size divides by its shards, but for those of exchanged factors: their ops stand
// between a slice to the true size and a pad from it. argument_info and result_info hold the true
// shapes of arguments and results whose types grew; the runtime fills and cuts their tails.
// Here: the last change of global meaning, so that localize knows no other remainders.
Pass pad_uneven_pass();

}  // namespace spmd
