// Partitioning against the unpartitioned program, on random programs, meshes and shardings.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gtest/gtest.h"
#include "ir/text.h"
#include "tests/differential/coverage.h"
#include "tests/differential/random_program.h"
#include "tests/differential/shrink.h"
#include "tests/differential/stages.h"

namespace spmd::testing {
namespace {

struct SeedRange {
  uint64_t from = 1, to = 4000;
};

// SPMD_SEEDS=from:to, both included, for longer runs and for one seed again.
SeedRange seed_range() {
  SeedRange range;
  if (const char* text = std::getenv("SPMD_SEEDS")) {
    char* end = nullptr;
    range.from = range.to = std::strtoull(text, &end, 10);
    if (*end == ':') range.to = std::strtoull(end + 1, nullptr, 10);
  }
  return range;
}

// Says which program crashed the process.
volatile uint64_t current_seed = 0;

void report_crash(int signal) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, "crash in the program of seed %llu\n",
                                 static_cast<unsigned long long>(current_seed));
  if (write(STDERR_FILENO, text, static_cast<size_t>(size)) < 0) _exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

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
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE}) std::signal(signal, report_crash);
  const SeedRange range = seed_range();
  Coverage coverage;
  int failures = 0;
  for (uint64_t seed = range.from; seed <= range.to && failures < 12; ++seed) {
    current_seed = seed;
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
