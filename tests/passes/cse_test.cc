#include "passes/cse.h"

#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

TEST(Cse, MergesEqualOpsInEitherOrderOfOperands) {
  expect_rewrite(cse_pass(), program({"tensor<4xf32>", "tensor<4xf32>"}, R"(
    %0 = stablehlo.add %x0, %x1 : tensor<4xf32>
    %1 = stablehlo.add %x1, %x0 : tensor<4xf32>
    %2 = stablehlo.subtract %x0, %x1 : tensor<4xf32>
    %3 = stablehlo.subtract %x1, %x0 : tensor<4xf32>
    %4 = stablehlo.multiply %0, %1 : tensor<4xf32>
    return %4, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)"),
                 R"(
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
    %1 = stablehlo.subtract %arg0, %arg1 : tensor<4xf32>
    %2 = stablehlo.subtract %arg1, %arg0 : tensor<4xf32>
    %3 = stablehlo.multiply %0, %0 : tensor<4xf32>
    return %3, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)");
}

TEST(Cse, MergesEqualReductions) {
  Module module = program({"tensor<4xf32>"}, R"(
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %zero_1 = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.reduce(%x0 init: %zero_1) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.reduce(%x0 init: %zero_1) applies stablehlo.maximum across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<f32>)");
  const Module before = module.clone();
  EXPECT_TRUE(apply(cse_pass(), module));
  EXPECT_EQ(count_ops(module, OpCode::kReduce), 2);
  EXPECT_EQ(count_ops(module, OpCode::kConstant), 1);
  expect_same_values(before, module);
}

TEST(Cse, ValuesOfOuterBlocksAreSeenAndInnerOnesAreNot) {
  Module module = program({"tensor<i1>", "tensor<4xf32>"}, R"(
    %0 = stablehlo.negate %x1 : tensor<4xf32>
    %1 = "stablehlo.if"(%x0) ({
      %3 = stablehlo.negate %x1 : tensor<4xf32>
      %4 = stablehlo.exponential %3 : tensor<4xf32>
      stablehlo.return %4 : tensor<4xf32>
    }, {
      stablehlo.return %0 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %2 = stablehlo.exponential %0 : tensor<4xf32>
    return %1, %2 : tensor<4xf32>, tensor<4xf32>)");
  const Module before = module.clone();
  EXPECT_TRUE(apply(cse_pass(), module));
  EXPECT_EQ(count_ops(module, OpCode::kNegate), 1);
  EXPECT_EQ(count_ops(module, OpCode::kExponential), 2);
  expect_same_values(before, module);
}

TEST(Cse, KeepsValuesWithDifferentShardingsApart) {
  expect_unchanged(cse_pass(), program(R"(module @test {
    sdy.mesh @mesh = <["x"=2]>
    func.func public @main(%x0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = stablehlo.negate %x0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<4xf32>
      %1 = stablehlo.negate %x0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xf32>
      return %0, %1 : tensor<4xf32>, tensor<4xf32>
    }
  })"));
}

TEST(Cse, KeepsBarriers) {
  expect_unchanged(cse_pass(), program({"tensor<4xf32>"}, R"(
    %0 = stablehlo.optimization_barrier %x0 : tensor<4xf32>
    %1 = stablehlo.optimization_barrier %x0 : tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>)"));
}

}  // namespace
}  // namespace spmd::testing
