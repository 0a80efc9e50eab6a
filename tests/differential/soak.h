// Many random programs, checked by several processes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/differential/coverage.h"
#include "tests/differential/seeds.h"

namespace spmd::testing {

struct SoakOptions {
  SeedRange seeds;
  double seconds = 0;  // after which no more programs are begun; 0: no limit
  int jobs = 1;
  size_t most_failures = 12;  // after which no more programs are begun
  // Told of progress, a line at a time, at most every few seconds.
  std::function<void(const std::string&)> progress;
};

struct SoakFailure {
  uint64_t seed = 0;
  std::string what;  // "localize (16): result 0 element 3 is 5, expected 4"
};

struct SoakResult {
  uint64_t programs = 0;
  uint64_t last_seed = 0;  // all up to here were checked
  // Elements of results that were compared with nothing, as rounding decides whether they are
  // finite, and the programs that have some.
  uint64_t undecided = 0, undecided_programs = 0;
  std::vector<SoakFailure> failures;
  Coverage coverage;
};

// Checks the program of every seed in child processes, so that one that crashes or hangs is a
// failure like others. SIGINT and SIGTERM end it early, with what there is until then. To be called
// from a process that has run no kernels.
SoakResult soak(const SoakOptions& options);

// The smallest program that fails as that of the seed does, as a test to be pasted.
std::string reproducer(uint64_t seed);

}  // namespace spmd::testing
