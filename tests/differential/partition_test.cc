// Partitioning against the unpartitioned program, on random programs, meshes and shardings.
#include <cstdio>

#include "gtest/gtest.h"
#include "ir/text.h"
#include "tests/differential/coverage.h"
#include "tests/differential/random_program.h"
#include "tests/differential/seeds.h"
#include "tests/differential/shrink.h"
#include "tests/differential/stages.h"

namespace spmd::testing {
namespace {

std::string reproducer(const Module& module, uint64_t seed, const StageFailure& failure) {
  const auto same_stage = [&](const Module& smaller) {
    const auto found = check_stages(smaller, seed);
    return found && found->stage == failure.stage;
  };
  const Module smallest = shrink(module.clone(), same_stage);
  const StageFailure last = *check_stages(smallest, seed);
  return "seed " + std::to_string(seed) + ", after " + last.stage + ": " + last.what + "\n" +
         print_stablehlo(smallest);
}

TEST(Partition, MeansWhatTheProgramMeans) {
  const SeedRange range = seed_range("SPMD_SEEDS", 4000);
  Coverage coverage;
  int failures = 0;
  for (uint64_t seed = range.from; seed <= range.to && failures < 12; ++seed) {
    announce_seed(seed);
    const Module module = random_program(seed);
    if (range.from == range.to) std::printf("%s", print_stablehlo(module).c_str());
    const auto failure = check_stages(module, seed, [&](const std::string& pass, const Module& m) {
      if (pass == "hoist_reshards") coverage.add(m);
    });
    if (!failure) continue;
    ++failures;
    ADD_FAILURE() << reproducer(module, seed, *failure);
  }
  std::printf("%s", coverage.to_string().c_str());
}

}  // namespace
}  // namespace spmd::testing
