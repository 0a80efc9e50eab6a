#include "passes/split_fused_projections.h"

#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

// x: 2x3x4 (batch over data), w: 4x6 and b: 6 (columns over `axis`), g: 2x3x2 three times. State is
// what a result replaces.
std::string with_arguments(const std::string& axis, const std::string& body) {
  return R"(module @test {
    sdy.mesh @mesh = <["data"=2, "model"=2]>
    func.func public @main(
      %x: tensor<2x3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}]>},
      %w: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {)" +
         axis + R"(}]>, tf.aliasing_output = 0 : i32},
      %b: tensor<6xf32>, %g0: tensor<2x3x2xf32>, %g1: tensor<2x3x2xf32>, %g2: tensor<2x3x2xf32>) -> )" +
         body + "}\n}\n";
}

std::string forward(const std::string& axis) {
  return with_arguments(axis, R"((tensor<4x6xf32>, tensor<2x3x2xf32>, tensor<2x3x3xf32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3x4xf32>, tensor<4x6xf32>) -> tensor<2x3x6xf32>
    %1 = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<6xf32>) -> tensor<2x3x6xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x3x6xf32>
    %q = stablehlo.slice %2 [0:2, 0:3, 0:2] : (tensor<2x3x6xf32>) -> tensor<2x3x2xf32>
    %k = stablehlo.slice %2 [0:2, 0:3, 3:6] : (tensor<2x3x6xf32>) -> tensor<2x3x3xf32>
    return %w, %q, %k : tensor<4x6xf32>, tensor<2x3x2xf32>, tensor<2x3x3xf32>
  )");
}

TEST(SplitFusedProjections, SlicesMoveOntoWeightAndBias) {
  expect_rewrite(split_fused_projections_pass(), program(forward("\"model\"")), R"(
    %0 = stablehlo.slice %arg1 [0:4, 0:2] : (tensor<4x6xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [2] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3x4xf32>, tensor<4x2xf32>) -> tensor<2x3x2xf32>
    %2 = stablehlo.slice %arg2 [0:2] : (tensor<6xf32>) -> tensor<2xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [2] : (tensor<2xf32>) -> tensor<2x3x2xf32>
    %4 = stablehlo.add %1, %3 : tensor<2x3x2xf32>
    %5 = stablehlo.slice %arg1 [0:4, 3:6] : (tensor<4x6xf32>) -> tensor<4x3xf32>
    %6 = stablehlo.dot_general %arg0, %5, contracting_dims = [2] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3x4xf32>, tensor<4x3xf32>) -> tensor<2x3x3xf32>
    %7 = stablehlo.slice %arg2 [3:6] : (tensor<6xf32>) -> tensor<3xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [2] : (tensor<3xf32>) -> tensor<2x3x3xf32>
    %9 = stablehlo.add %6, %8 : tensor<2x3x3xf32>
    return %arg1, %4, %9 : tensor<4x6xf32>, tensor<2x3x2xf32>, tensor<2x3x3xf32>)");
}

TEST(SplitFusedProjections, WhereTheBatchUsesTheAxisOneProductIsBetter) {
  expect_unchanged(split_fused_projections_pass(), program(forward("\"data\"")));
  expect_unchanged(split_fused_projections_pass(), program(forward("")));
}

TEST(SplitFusedProjections, OverlappingSlicesStay) {
  std::string text = forward("\"model\"");
  const size_t at = text.find("0:2] : (tensor<2x3x6xf32>)");
  text.replace(at, 3, "2:4");
  expect_unchanged(split_fused_projections_pass(), program(text));
}

TEST(SplitFusedProjections, GradientsArePiecewise) {
  const Module module =
      program(with_arguments("\"model\"", R"((tensor<4x6xf32>, tensor<2x3x4xf32>, tensor<6xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %c = stablehlo.concatenate %g0, %g1, %g2, dim = 2 : (tensor<2x3x2xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x6xf32>
    %db = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3x6xf32>, tensor<f32>) -> tensor<6xf32>
    %0 = stablehlo.dot_general %c, %x, contracting_dims = [0, 1] x [0, 1], precision = [HIGHEST, HIGHEST] : (tensor<2x3x6xf32>, tensor<2x3x4xf32>) -> tensor<6x4xf32>
    %dw = stablehlo.transpose %0, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %dx = stablehlo.dot_general %c, %w, contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3x6xf32>, tensor<4x6xf32>) -> tensor<2x3x4xf32>
    return %dw, %dx, %db : tensor<4x6xf32>, tensor<2x3x4xf32>, tensor<6xf32>
  )"));
  Module after = module.clone();
  EXPECT_TRUE(apply(split_fused_projections_pass(), after));
  EXPECT_EQ(count_ops(after, OpCode::kDotGeneral), 6);
  EXPECT_EQ(count_ops(after, OpCode::kReduce), 3);
  EXPECT_EQ(count_ops(after, OpCode::kConcatenate), 2);  // of the small gradients
  EXPECT_EQ(count_ops(after, OpCode::kSlice), 3);        // of the weight
  expect_same_values(module, after);
}

TEST(SplitFusedProjections, AConcatenationUsedOtherwiseStays) {
  expect_unchanged(split_fused_projections_pass(),
                   program(with_arguments(
                       "\"model\"", R"((tensor<4x6xf32>, tensor<2x3x4xf32>, tensor<2x3x6xf32>) {
    %c = stablehlo.concatenate %g0, %g1, %g2, dim = 2 : (tensor<2x3x2xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x6xf32>
    %dx = stablehlo.dot_general %c, %w, contracting_dims = [2] x [1] : (tensor<2x3x6xf32>, tensor<4x6xf32>) -> tensor<2x3x4xf32>
    return %w, %dx, %c : tensor<4x6xf32>, tensor<2x3x4xf32>, tensor<2x3x6xf32>
  )")));
}

TEST(SplitFusedProjections, SumsOfLowPrecisionAreRoundedOnce) {
  const Module module = program(R"(module @test {
    sdy.mesh @mesh = <["model"=2]>
    func.func public @main(%w: tensor<4x6xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, %g0: tensor<5x3xbf16>, %g1: tensor<5x3xbf16>) -> tensor<5x4xbf16> {
      %c = stablehlo.concatenate %g0, %g1, dim = 1 : (tensor<5x3xbf16>, tensor<5x3xbf16>) -> tensor<5x6xbf16>
      %0 = stablehlo.dot_general %c, %w, contracting_dims = [1] x [1] : (tensor<5x6xbf16>, tensor<4x6xbf16>) -> tensor<5x4xbf16>
      return %0 : tensor<5x4xbf16>
    }
  })");
  Module after = module.clone();
  EXPECT_TRUE(apply(split_fused_projections_pass(), after));
  const Function& main = after.main();
  walk(main, [&](OpId id) {
    if (main.op(id).code == OpCode::kAdd) {
      EXPECT_EQ(main.type(main.op(id).results[0]).dtype, DType::kF32);
    }
  });
  expect_same_values(module, after);
}

}  // namespace
}  // namespace spmd::testing
