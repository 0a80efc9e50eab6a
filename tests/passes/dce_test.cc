#include "passes/dce.h"

#include "tests/passes/loops.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

TEST(Dce, RemovesChainsOfUnusedOps) {
  expect_rewrite(dce_pass(), program({"tensor<4xf32>"}, R"(
    %0 = stablehlo.negate %x0 : tensor<4xf32>
    %1 = stablehlo.exponential %0 : tensor<4xf32>
    return %x0 : tensor<4xf32>)"),
                 "return %arg0 : tensor<4xf32>");
}

TEST(Dce, RemovesCarriesThatOnlyFeedThemselves) {
  Module module = program(
      {"tensor<f32>", "tensor<f32>", "tensor<f32>"},
      counted_loop(3, "%a = %x0, %b = %x1, %c = %x2", "tensor<f32>, tensor<f32>, tensor<f32>",
                   "%a1 = stablehlo.add %a, %c : tensor<f32>\n"
                   "%b1 = stablehlo.multiply %b, %a : tensor<f32>\n"
                   "%c1 = stablehlo.negate %c : tensor<f32>",
                   "%a1, %b1, %c1", 3) +
          "return %loop#1 : tensor<f32>");
  const Module before = module.clone();
  EXPECT_TRUE(apply(dce_pass(), module));
  // %b goes; %c stays, as %a needs it; the counter stays, as the condition needs it.
  EXPECT_EQ(count_ops(module, OpCode::kMultiply), 0);
  EXPECT_EQ(count_ops(module, OpCode::kNegate), 1);
  const Function& main = module.main();
  walk(main, [&](OpId id) {
    if (main.op(id).code == OpCode::kWhile) {
      EXPECT_EQ(main.op(id).results.size(), 3u);
    }
  });
  expect_same_values(before, module);
}

TEST(Dce, RemovesUnusedLoopsAndFunctions) {
  Module module =
      program({"tensor<f32>"}, counted_loop(3, "%a = %x0", "tensor<f32>",
                                            "%a1 = stablehlo.add %a, %a : tensor<f32>", "%a1", 1) +
                                   "return %x0 : tensor<f32>");
  EXPECT_TRUE(apply(dce_pass(), module));
  EXPECT_EQ(body_of(module), "return %arg0 : tensor<f32>\n");
}

TEST(Dce, RemovesUnusedResultsOfBranches) {
  Module module = program({"tensor<i1>", "tensor<f32>"}, R"(
    %0:2 = "stablehlo.if"(%x0) ({
      %1 = stablehlo.negate %x1 : tensor<f32>
      %2 = stablehlo.exponential %x1 : tensor<f32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<f32>
    }, {
      %1 = stablehlo.tanh %x1 : tensor<f32>
      stablehlo.return %x1, %1 : tensor<f32>, tensor<f32>
    }) : (tensor<i1>) -> (tensor<f32>, tensor<f32>)
    return %0#0 : tensor<f32>)");
  const Module before = module.clone();
  EXPECT_TRUE(apply(dce_pass(), module));
  EXPECT_EQ(count_ops(module, OpCode::kExponential) + count_ops(module, OpCode::kTanh), 0);
  expect_same_values(before, module);
  expect_unchanged(dce_pass(), std::move(module));
}

TEST(Dce, ShrinksBarriers) {
  expect_rewrite(dce_pass(), program({"tensor<f32>", "tensor<f32>"}, R"(
    %0:2 = stablehlo.optimization_barrier %x0, %x1 : tensor<f32>, tensor<f32>
    return %0#1 : tensor<f32>)"),
                 R"(%0 = stablehlo.optimization_barrier %arg1 : tensor<f32>
                    return %0 : tensor<f32>)");
}

TEST(Dce, KeepsSideEffects) {
  expect_unchanged(dce_pass(), program({"tensor<f32>"}, R"(
    %0 = stablehlo.custom_call @log(%x0) {has_side_effect = true} : (tensor<f32>) -> tensor<f32>
    return %x0 : tensor<f32>)"));
}

}  // namespace
}  // namespace spmd::testing
