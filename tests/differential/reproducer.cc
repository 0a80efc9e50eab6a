#include <fmt/format.h>

#include "ir/text.h"
#include "launcher/failing_program.h"
#include "tests/differential/random_program.h"
#include "tests/differential/soak.h"

namespace spmd::testing {
namespace {

constexpr double kSeconds = 60;  // a check of one program

std::string test_of(uint64_t seed, const ProgramFailure& failure, const Module& module) {
  std::string text =
      fmt::format("// {}\nTEST(PartitionRegressions, Seed{}) {{\n", failure.failure.stage, seed);
  text += fmt::format("  expect_same_meaning({}, R\"(\n{})\");\n}}\n", name_of(links_of(seed)),
                      print_stablehlo(module));
  return text;
}

}  // namespace

std::string reproducer(uint64_t seed) {
  Module module;
  try {
    module = random_program(seed);
  } catch (const std::exception& error) {
    return fmt::format("seed {} draws no program: {}\n", seed, error.what());
  }
  StageOptions options = random_stages(seed);
  std::optional<ProgramFailure> failure = check_isolated(module, options, kSeconds);
  if (!failure) return fmt::format("seed {} does not fail any more\n", seed);
  // Smaller programs may leave the range in which sums are exact: rounding is no failure.
  options.exact = false;
  if (const auto rounded = check_isolated(module, options, kSeconds);
      !rounded || rounded->signature != failure->signature) {
    options.exact = random_stages(seed).exact;
  }
  const Module smallest = reduce_program(module.clone(), *failure, options, kSeconds);
  if (const auto last = check_isolated(smallest, options, kSeconds)) failure = last;
  return fmt::format("seed {}, {}\n{}", seed, failure->failure.to_string(),
                     test_of(seed, *failure, smallest));
}

}  // namespace spmd::testing
