// propagate_shardings: a sharding for every value.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: spreads the shardings of arguments, results and constraints over main()
// (sharding/propagation/propagation.h).
// Assumes: calls inlined.
// Ensures: every value of main() and every result has a closed sharding.
// Here: after simplification, so that what ties dimensions is what the program means, and before
// anything looks at shardings.
Pass propagate_shardings_pass();

}  // namespace spmd
