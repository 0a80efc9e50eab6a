// Random partitioned programs with compiled kernels: what they mean at every stage, and what their
// Plan computes on ranks. Few, since each is compiled by a C++ compiler; tests/codegen has more.
#include "gtest/gtest.h"
#include "ir/text.h"
#include "launcher/stages.h"
#include "tests/differential/random_program.h"

namespace spmd::testing {
namespace {

TEST(CompiledPlans, MeanWhatTheProgramMeans) {
  for (uint64_t seed = 7000; seed < 7016; ++seed) {
    const Module module = random_program(seed);
    StageOptions options = random_stages(seed);
    options.kernels = KernelTarget::kHost;
    const auto failure = check_stages(module, options);
    EXPECT_FALSE(failure) << "seed " << seed << ": " << failure->to_string() << "\n"
                          << print_stablehlo(module);
  }
}

}  // namespace
}  // namespace spmd::testing
