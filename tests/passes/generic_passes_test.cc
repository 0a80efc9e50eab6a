// The generic passes on real programs: one step before and after.
#include <algorithm>

#include "ir/evaluator.h"
#include "passes/equivalence/compare.h"
#include "passes/registry.h"
#include "tests/passes/model_programs.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

class GenericPasses : public ::testing::TestWithParam<std::string> {};

TEST_P(GenericPasses, KeepTheStep) {
  ModelProgram model = load_model(GetParam());
  const std::vector<Literal> expected = evaluate(model.module, model.arguments);
  for (const char* name : {"inline_calls", "simplify", "cse", "hoist_loop_invariants",
                           "split_fused_projections", "simplify", "cse", "dce"}) {
    apply(pass_named(name), model.module);
  }
  const Difference difference = compare_results(expected, evaluate(model.module, model.arguments));
  EXPECT_LE(difference.relative, 1e-6)
      << "result " << difference.result << ", element " << difference.element;
}

TEST_P(GenericPasses, ReachAFixedPoint) {
  Module module = load_model(GetParam()).module;
  const char* kPasses[] = {
      "inline_calls", "simplify", "cse", "hoist_loop_invariants", "split_fused_projections", "dce"};
  for (int round = 0; round < 4; ++round) {
    for (const char* name : kPasses) apply(pass_named(name), module);
  }
  for (const char* name : kPasses) EXPECT_FALSE(apply(pass_named(name), module)) << name;
}

INSTANTIATE_TEST_SUITE_P(Models, GenericPasses, ::testing::ValuesIn(model_names()),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GenericPasses);

// The fused qkv of both layers, forward and backward, becomes one product for each of q, k and v.
TEST(GenericPassesOnModels, TensorParallelQkvIsSplit) {
  const std::vector<std::string> names = model_names();
  if (std::find(names.begin(), names.end(), "gpt_dp_tp") == names.end()) GTEST_SKIP();
  Module module = load_model("gpt_dp_tp").module;
  for (const char* name : {"inline_calls", "simplify", "cse"}) apply(pass_named(name), module);
  const int dots = count_ops(module, OpCode::kDotGeneral);
  EXPECT_TRUE(apply(pass_named("split_fused_projections"), module));
  // Per layer: one forward product, one for each gradient.
  EXPECT_EQ(count_ops(module, OpCode::kDotGeneral), dots + 2 * 3 * 2);

  Module fsdp = load_model("gpt_fsdp").module;
  for (const char* name : {"inline_calls", "simplify", "cse"}) apply(pass_named(name), fsdp);
  EXPECT_FALSE(apply(pass_named("split_fused_projections"), fsdp));
}

}  // namespace
}  // namespace spmd::testing
