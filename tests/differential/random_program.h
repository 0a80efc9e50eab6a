// Random sharded programs over all op families.
#pragma once

#include <cstdint>
#include <string>

#include "ir/module.h"
#include "launcher/stages.h"

namespace spmd::testing {

// A verified module: a few ops, a mesh of up to 12 devices in any order, shardings on some
// arguments, results and values in between, some arguments aliased with results.
Module random_program(uint64_t seed);

// How the program of this seed is checked: on whole numbers, on which its sums are exact, or on
// real ones; with links of some cost.
StageOptions random_stages(uint64_t seed);

// Links of several kinds, so that all ways to communicate are the cheapest somewhere. Without
// latency it is bytes that count: small tensors are exchanged, not gathered. On slow links any work
// is worth sparing some.
enum class Links : uint8_t { kUsual, kWithoutLatency, kSlow };
// Without latency for every other seed, a quarter of them each for the others.
Links links_of(uint64_t seed);
CostModel cost_model_of(Links links);
// "Links::kSlow".
std::string name_of(Links links);

}  // namespace spmd::testing
