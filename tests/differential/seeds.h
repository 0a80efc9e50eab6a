// Which seeds a test draws, and what a crash says.
#pragma once

#include <cstdint>

namespace spmd::testing {

struct SeedRange {
  uint64_t from = 1, to = 1;  // both included
};

// 1 to `count`, or what the environment variable says ("from:to", "from:" without end, or one
// seed), for longer runs and for one seed again.
SeedRange seed_range(const char* variable, uint64_t count);

// From now on a crash of the process says that it was in the program of this seed.
void announce_seed(uint64_t seed);

}  // namespace spmd::testing
