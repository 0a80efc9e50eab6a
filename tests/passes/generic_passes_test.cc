// The generic passes on real programs: one step before and after.
#include "frontends/frontend.h"
#include "ir/evaluator.h"
#include "passes/equivalence/compare.h"
#include "passes/registry.h"
#include "tests/passes/pass_testing.h"
#include "tests/support/exported_program.h"

namespace spmd::testing {
namespace {

Module module_of(const std::string& name) {
  return import_file(std::string(SPMD_SOURCE_DIR "/tests/data/models/") + name + "/model.mlir");
}

class GenericPasses : public ::testing::TestWithParam<std::string> {};

TEST_P(GenericPasses, KeepTheStep) {
  Module module = module_of(GetParam());
  ExportedProgram program = load_exported_program(GetParam());
  std::vector<Literal> arguments = program.initial_arguments();
  program.set_batch(arguments, 0);
  const std::vector<Literal> expected = evaluate(module, arguments);
  for (const char* name : {"inline_calls", "simplify", "cse", "hoist_loop_invariants",
                           "split_fused_projections", "simplify", "cse", "dce"}) {
    apply(pass_named(name), module);
  }
  const Difference difference = compare_results(expected, evaluate(module, arguments));
  EXPECT_LE(difference.relative, 1e-6)
      << "result " << difference.result << ", element " << difference.element;
}

TEST_P(GenericPasses, ReachAFixedPoint) {
  Module module = module_of(GetParam());
  const char* kPasses[] = {
      "inline_calls", "simplify", "cse", "hoist_loop_invariants", "split_fused_projections", "dce"};
  for (int round = 0; round < 4; ++round) {
    for (const char* name : kPasses) apply(pass_named(name), module);
  }
  for (const char* name : kPasses) EXPECT_FALSE(apply(pass_named(name), module)) << name;
}

INSTANTIATE_TEST_SUITE_P(Models, GenericPasses, ::testing::ValuesIn(exported_program_names()),
                         [](const auto& info) { return info.param; });

// The fused qkv of both layers, forward and backward, becomes one product for each of q, k and v.
TEST(GenericPassesOnModels, TensorParallelQkvIsSplit) {
  Module module = module_of("gpt_dp_tp");
  for (const char* name : {"inline_calls", "simplify", "cse"}) apply(pass_named(name), module);
  const int dots = count_ops(module, OpCode::kDotGeneral);
  EXPECT_TRUE(apply(pass_named("split_fused_projections"), module));
  // Per layer: one forward product, one for each gradient.
  EXPECT_EQ(count_ops(module, OpCode::kDotGeneral), dots + 2 * 3 * 2);

  Module fsdp = module_of("gpt_fsdp");
  for (const char* name : {"inline_calls", "simplify", "cse"}) apply(pass_named(name), fsdp);
  EXPECT_FALSE(apply(pass_named("split_fused_projections"), fsdp));
}

}  // namespace
}  // namespace spmd::testing
