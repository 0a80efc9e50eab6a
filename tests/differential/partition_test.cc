// Partitioning against the unpartitioned program, on random programs, meshes and shardings.
//
// The environment makes more of it (scripts/soak.sh): SPMD_SEEDS=from:to, or one seed, whose
// program is printed; SPMD_SOAK_SECONDS, the time after which to stop; SPMD_SOAK_JOBS, processes;
// SPMD_SOAK_FAILURES, the number of failures after which to stop. With any of them, progress and
// the coverage are printed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "gtest/gtest.h"
#include "ir/text.h"
#include "launcher/isolated.h"
#include "tests/differential/random_program.h"
#include "tests/differential/root_causes.h"
#include "tests/differential/soak.h"

namespace spmd::testing {
namespace {

using Strings = std::vector<std::string>;

constexpr uint64_t kPrograms = 2500;
constexpr int64_t kEnough = 20;  // ops under each circumstance
constexpr double kSecondsToShrink = 1800;

// A number from the environment, or `otherwise`.
double setting(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtod(text, nullptr) : otherwise;
}

bool is_soak() {
  return std::getenv("SPMD_SEEDS") != nullptr || std::getenv("SPMD_SOAK_SECONDS") != nullptr;
}

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void print_coverage(const Coverage& coverage) {
  say(coverage.to_table());
  const std::vector<std::string> rare = coverage.reached_less_than(kEnough);
  say(std::to_string(rare.size()) + " of " + std::to_string(coverage.num_cells()) +
      " cells reached fewer than " + std::to_string(kEnough) + " times");
  for (const std::string& cell : rare) say("  " + cell);
  say("never drawn:");
  for (const std::string& op : coverage.never_drawn()) say("  " + op);
}

TEST(Partition, MeansWhatTheProgramMeans) {
  SoakOptions options;
  options.seeds = seed_range("SPMD_SEEDS", kPrograms);
  options.seconds = setting("SPMD_SOAK_SECONDS", 0);
  options.jobs = static_cast<int>(setting("SPMD_SOAK_JOBS", std::thread::hardware_concurrency()));
  options.most_failures = static_cast<size_t>(setting("SPMD_SOAK_FAILURES", 12));
  if (is_soak()) options.progress = say;
  if (options.seeds.from == options.seeds.to)
    say(print_stablehlo(random_program(options.seeds.from)));
  const SoakResult result = soak(options);
  if (is_soak()) print_coverage(result.coverage);
  if (!is_soak()) {
    EXPECT_EQ(causes_reached_less_than(kEnough, result.coverage), Strings{});
  }
  say(fmt::format("{} programs, seeds {} to {}, {} failed", result.programs, options.seeds.from,
                  result.last_seed, result.failures.size()));
  if (result.undecided > 0) {
    say(fmt::format("{} elements in {} programs are finite or not as rounding has it: not compared",
                    result.undecided, result.undecided_programs));
  }
  for (const SoakFailure& failure : result.failures) {
    const IsolatedOutcome smallest =
        run_isolated([&] { return reproducer(failure.seed); }, kSecondsToShrink);
    ADD_FAILURE() << "seed " << failure.seed << ", " << failure.what << "\n"
                  << (smallest.finished() ? smallest.text : smallest.failure());
  }
}

// Parts of axes are drawn in every order of their factors, not the smallest first only.
TEST(Partition, AxesAreCutInOtherOrders) {
  int64_t programs = 0;
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    const Module module = random_program(seed);
    bool other_order = false;
    for (int axis = 0; axis < module.mesh.num_axes(); ++axis) {
      const std::vector<int64_t> factors = module.mesh.factors(axis);
      other_order = other_order || !std::is_sorted(factors.begin(), factors.end());
    }
    programs += other_order ? 1 : 0;
  }
  EXPECT_GE(programs, kEnough);
}

}  // namespace
}  // namespace spmd::testing
