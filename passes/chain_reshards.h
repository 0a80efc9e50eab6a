// chain_reshards: a reshard starts from the version of its value that is nearest.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: of a value that is in several placements, reshards to one from another, made before, where
// that costs less than from the value itself: a block of what is gathered anyhow is cut from that.
// Assumes: placements agree (insert_reshards).
// Ensures: the same, in fewer bytes. Reshards from a value to its own placement are gone.
// Here: when it is settled what is resharded, before padding.
Pass chain_reshards_pass();

}  // namespace spmd
