#include "tests/differential/same_meaning.h"

#include "gtest/gtest.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "tests/differential/random_program.h"

namespace spmd::testing {

void expect_same_meaning(const std::string& module_text) {
  const Module module = parse_stablehlo(module_text, "regression.mlir");
  verify(module);
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const bool whole = seed <= 3;
    StageOptions options;
    options.inputs = whole ? InputStyle::kWhole : InputStyle::kReal;
    options.exact = whole;
    options.seed = seed;
    options.cost = cost_model_of(seed);
    const auto failure = check_stages(module, options);
    if (failure) ADD_FAILURE() << "inputs " << seed << ", " << failure->to_string();
  }
}

void expect_same_meaning(const std::string& mesh, const std::string& main) {
  expect_same_meaning("module @test {\nsdy.mesh @mesh = <[" + mesh + "]>\nfunc.func public @main" +
                      main + "\n}\n");
}

}  // namespace spmd::testing
