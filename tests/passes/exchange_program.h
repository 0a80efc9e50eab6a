// Random programs of ops whose blocks need rows of other blocks.
#pragma once

#include <cstdint>

#include "ir/module.h"

namespace spmd::testing {

// 1 to 5 rolls, slices, pads, concatenations, reversals, windows, scans, convolutions, top-ks,
// dynamic slices and updates, one on the other, on a random mesh, with shardings that need not
// divide and may leave shards empty. Values are such that sums of them are exact. The same seed
// gives the same program.
Module exchange_program(uint64_t seed);

}  // namespace spmd::testing
