// Exchanges of rows against the unpartitioned program, on random programs and shardings.
#include <cmath>
#include <cstdlib>

#include "ir/text.h"
#include "passes/compile.h"
#include "passes/equivalence/compare.h"
#include "passes/equivalence/random_inputs.h"
#include "tests/differential/random.h"
#include "tests/passes/exchange_program.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

// Whole numbers and quarters; for every other seed also infinities, which no masked element may
// meet.
std::vector<Literal> inputs_of(const Module& module, uint64_t seed) {
  std::vector<Literal> inputs = random_inputs(module, seed);
  Random random(seed);
  for (Literal& input : inputs) {
    if (seed % 2 == 0 || input.type().dtype != DType::kF32) continue;
    float* elements = input.mutable_as<float>();
    for (int64_t e = 0; e < input.type().num_elements(); ++e) {
      if (random.chance(3)) elements[e] = random.chance(50) ? INFINITY : -INFINITY;
    }
  }
  return inputs;
}

// What is wrong with the partitioned program; empty if nothing. Counts programs that send rows.
std::string fault(const Module& module, uint64_t seed, double latency, int& exchanging) {
  CompileOptions options;
  options.verify_each = true;
  options.cost.latency = latency;
  try {
    const Module partitioned = partition(module.clone(), options).module;
    exchanging += count_ops(partitioned, OpCode::kCollectivePermute) > 0;
    const Difference difference = compare_modules(module, partitioned, inputs_of(module, seed));
    if (difference.relative == 0) return "";
    return "result " + std::to_string(difference.result) + " differs in element " +
           std::to_string(difference.element);
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(RandomExchanges, MeanWhatTheProgramMeans) {
  uint64_t first = 1, last = 1200;
  if (const char* seeds = std::getenv("SPMD_SEEDS")) {
    char* end = nullptr;
    first = last = std::strtoull(seeds, &end, 10);
    if (*end == ':') last = std::strtoull(end + 1, nullptr, 10);
  }
  int failures = 0, exchanging = 0;
  for (uint64_t seed = first; seed <= last && failures < 6; ++seed) {
    const Module module = exchange_program(seed);
    // Without latency rows are exchanged where they would else be gathered.
    for (double latency : {0.0, CostModel().latency}) {
      const std::string what = fault(module, seed, latency, exchanging);
      if (what.empty()) continue;
      ++failures;
      ADD_FAILURE() << "seed " << seed << ", latency " << latency << ": " << what << "\n"
                    << print_stablehlo(module);
      break;
    }
  }
  // The programs are about something.
  EXPECT_GE(exchanging, static_cast<int>(last - first) / 4);
}

}  // namespace
}  // namespace spmd::testing
