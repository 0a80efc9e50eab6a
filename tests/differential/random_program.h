// Random sharded programs over all op families.
#pragma once

#include <cstdint>

#include "ir/module.h"
#include "launcher/stages.h"

namespace spmd::testing {

// A verified module: a few ops, a mesh of up to 12 devices in any order, shardings on some
// arguments, results and values in between, some arguments aliased with results.
Module random_program(uint64_t seed);

// How the program of this seed is checked: on whole numbers, on which its sums are exact, or on
// real ones; with links of some cost.
StageOptions random_stages(uint64_t seed);

// Links of several kinds, so that all ways to communicate are the cheapest somewhere: with free
// latency it is bytes that count, on slow links any work is worth sparing some.
CostModel cost_model_of(uint64_t seed);

}  // namespace spmd::testing
