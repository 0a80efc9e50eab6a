// Which kernels a module becomes.
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

using Kinds = std::map<std::string, int>;

TEST(Fusion, GeluIsOneKernelWithoutTemporaries) {
  const Module module = module_of("(%x: tensor<64x32xf32>) -> tensor<64x32xf32>", R"(
    %c0 = stablehlo.constant dense<4.471500e-02> : tensor<64x32xf32>
    %c1 = stablehlo.constant dense<0.797884583> : tensor<64x32xf32>
    %one = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %half = stablehlo.constant dense<5.000000e-01> : tensor<64x32xf32>
    %0 = stablehlo.multiply %x, %x : tensor<64x32xf32>
    %1 = stablehlo.multiply %x, %0 : tensor<64x32xf32>
    %2 = stablehlo.multiply %c0, %1 : tensor<64x32xf32>
    %3 = stablehlo.add %x, %2 : tensor<64x32xf32>
    %4 = stablehlo.multiply %c1, %3 : tensor<64x32xf32>
    %5 = stablehlo.tanh %4 : tensor<64x32xf32>
    %6 = stablehlo.add %ones, %5 : tensor<64x32xf32>
    %7 = stablehlo.multiply %half, %6 : tensor<64x32xf32>
    %8 = stablehlo.multiply %x, %7 : tensor<64x32xf32>
    return %8 : tensor<64x32xf32>)");
  const plan::Plan plan = plan_of(module);
  EXPECT_EQ(kinds(plan), (Kinds{{"elementwise", 1}}));
  EXPECT_EQ(plan.arena_bytes(), 0);
  const plan::Elementwise& kernel = plan.programs(0).body().steps(0).elementwise();
  EXPECT_EQ(kernel.inputs_size(), 1);
  EXPECT_EQ(kernel.outputs_size(), 1);
  EXPECT_EQ(kernel.shape_size(), 1);
  expect_meaning(module, 1e-6);
}

const char* kLayerNorm = R"(
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %n = stablehlo.constant dense<3.200000e+01> : tensor<8x16x1xf32>
    %eps = stablehlo.constant dense<1.000000e-05> : tensor<8x16x1xf32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<8x16x32xf32>, tensor<f32>) -> tensor<8x16xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<8x16xf32>) -> tensor<8x16x1xf32>
    %mean = stablehlo.divide %1, %n : tensor<8x16x1xf32>
    %sq = stablehlo.multiply %x, %x : tensor<8x16x32xf32>
    %2 = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<8x16x32xf32>, tensor<f32>) -> tensor<8x16xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<8x16xf32>) -> tensor<8x16x1xf32>
    %4 = stablehlo.divide %3, %n : tensor<8x16x1xf32>
    %5 = stablehlo.multiply %mean, %mean : tensor<8x16x1xf32>
    %var = stablehlo.subtract %4, %5 : tensor<8x16x1xf32>
    %6 = stablehlo.add %var, %eps : tensor<8x16x1xf32>
    %7 = stablehlo.rsqrt %6 : tensor<8x16x1xf32>
    %8 = stablehlo.broadcast_in_dim %mean, dims = [0, 1, 2] : (tensor<8x16x1xf32>) -> tensor<8x16x32xf32>
    %9 = stablehlo.subtract %x, %8 : tensor<8x16x32xf32>
    %10 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<8x16x1xf32>) -> tensor<8x16x32xf32>
    %11 = stablehlo.multiply %9, %10 : tensor<8x16x32xf32>
    %12 = stablehlo.broadcast_in_dim %scale, dims = [2] : (tensor<32xf32>) -> tensor<8x16x32xf32>
    %13 = stablehlo.multiply %11, %12 : tensor<8x16x32xf32>
    return %13 : tensor<8x16x32xf32>)";

TEST(Fusion, LayerNormIsTwoReductionsAndThreeKernels) {
  const Module module = module_of(
      "(%x: tensor<8x16x32xf32>, %scale: tensor<32xf32>) -> tensor<8x16x32xf32>", kLayerNorm);
  // The squares, the statistics, the normalisation.
  EXPECT_EQ(kinds(plan_of(module)), (Kinds{{"elementwise", 3}, {"reduce", 2}}));
  expect_meaning(module, 1e-5);
}

TEST(Fusion, SoftmaxNeedsOnePassPerReduction) {
  const Module module = module_of("(%x: tensor<64x32xf32>) -> tensor<64x32xf32>", R"(
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x32xf32>, tensor<f32>) -> tensor<64xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x32xf32>
    %3 = stablehlo.subtract %x, %2 : tensor<64x32xf32>
    %4 = stablehlo.exponential %3 : tensor<64x32xf32>
    %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x32xf32>, tensor<f32>) -> tensor<64xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<64xf32>) -> tensor<64x32xf32>
    %7 = stablehlo.divide %4, %6 : tensor<64x32xf32>
    return %7 : tensor<64x32xf32>)");
  EXPECT_EQ(kinds(plan_of(module)), (Kinds{{"elementwise", 2}, {"reduce", 2}}));
  expect_meaning(module, 1e-6);
}

TEST(Fusion, ReshapesBetweenElementwiseOpsCostNothing) {
  const Module module =
      module_of("(%x: tensor<6x8xf32>, %y: tensor<2x3x8xf32>) -> tensor<48xf32>", R"(
    %0 = stablehlo.exponential %x : tensor<6x8xf32>
    %1 = stablehlo.reshape %0 : (tensor<6x8xf32>) -> tensor<2x3x8xf32>
    %2 = stablehlo.add %1, %y : tensor<2x3x8xf32>
    %3 = stablehlo.reshape %2 : (tensor<2x3x8xf32>) -> tensor<48xf32>
    %4 = stablehlo.negate %3 : tensor<48xf32>
    return %4 : tensor<48xf32>)");
  EXPECT_EQ(kinds(plan_of(module)), (Kinds{{"elementwise", 1}}));
  expect_meaning(module, 1e-6);
}

TEST(Fusion, SiblingsThatReadTheSameTensorShareAKernel) {
  const Module module = module_of(
      "(%g: tensor<512xf32>, %m: tensor<512xf32>, %v: tensor<512xf32>) -> (tensor<512xf32>, "
      "tensor<512xf32>)",
      R"(
    %0 = stablehlo.add %m, %g : tensor<512xf32>
    %1 = stablehlo.multiply %g, %g : tensor<512xf32>
    %2 = stablehlo.add %v, %1 : tensor<512xf32>
    return %0, %2 : tensor<512xf32>, tensor<512xf32>)");
  EXPECT_EQ(kinds(plan_of(module)), (Kinds{{"elementwise", 1}}));
  expect_meaning(module);
}

TEST(Fusion, AScalarAmongTensorsIsNoSibling) {
  // The scalar's kernel has one element; the clamp's and the select's have two.
  const Module module = module_of(
      "(%s: tensor<f32>, %p: tensor<i1>, %x: tensor<2xf32>) -> (tensor<f32>, tensor<i1>, "
      "tensor<2xf32>)",
      R"(
    %0 = stablehlo.negate %s : tensor<f32>
    %1 = stablehlo.not %p : tensor<i1>
    %2 = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    %3 = stablehlo.select %p, %2, %x : tensor<i1>, tensor<2xf32>
    return %0, %1, %3 : tensor<f32>, tensor<i1>, tensor<2xf32>)");
  expect_meaning(module);
}

TEST(Fusion, ConcatenateWritesIntoWindows) {
  // Rotary embedding: both halves come from one kernel, which writes into the result.
  const Module module = module_of(
      "(%x: tensor<4x16xf32>, %c: tensor<4x8xf32>, %s: tensor<4x8xf32>) -> tensor<4x16xf32>", R"(
    %0 = stablehlo.slice %x [0:4, 0:8] : (tensor<4x16xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.slice %x [0:4, 8:16] : (tensor<4x16xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.multiply %0, %c : tensor<4x8xf32>
    %3 = stablehlo.multiply %1, %s : tensor<4x8xf32>
    %4 = stablehlo.subtract %2, %3 : tensor<4x8xf32>
    %5 = stablehlo.multiply %0, %s : tensor<4x8xf32>
    %6 = stablehlo.multiply %1, %c : tensor<4x8xf32>
    %7 = stablehlo.add %5, %6 : tensor<4x8xf32>
    %8 = stablehlo.concatenate %4, %7, dim = 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
    return %8 : tensor<4x16xf32>)");
  const plan::Plan plan = plan_of(module);
  EXPECT_EQ(kinds(plan), (Kinds{{"elementwise", 1}}));
  EXPECT_EQ(plan.arena_bytes(), 0);
  expect_meaning(module);
}

TEST(Fusion, ConvertsReadThroughSlicesAreNotStored) {
  const Module module = module_of("(%x: tensor<4x16xbf16>) -> tensor<4x8xf32>", R"(
    %0 = stablehlo.convert %x : (tensor<4x16xbf16>) -> tensor<4x16xf32>
    %1 = stablehlo.slice %0 [0:4, 0:8] : (tensor<4x16xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.slice %0 [0:4, 8:16] : (tensor<4x16xf32>) -> tensor<4x8xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<4x8xf32>
    return %3 : tensor<4x8xf32>)");
  EXPECT_EQ(kinds(plan_of(module)), (Kinds{{"elementwise", 1}}));
  expect_meaning(module);
}

TEST(Fusion, TransposesFoldIntoDots) {
  const Module module =
      module_of("(%x: tensor<8x4x16xf32>, %w: tensor<32x16xf32>) -> tensor<4x8x32xf32>", R"(
    %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<8x4x16xf32>) -> tensor<4x8x16xf32>
    %1 = stablehlo.transpose %w, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    %2 = stablehlo.dot_general %0, %1, contracting_dims = [2] x [0] : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    return %2 : tensor<4x8x32xf32>)");
  const plan::Plan plan = plan_of(module);
  EXPECT_EQ(kinds(plan), (Kinds{{"dot", 1}}));
  EXPECT_EQ(plan.arena_bytes(), 0);
  expect_meaning(module, 1e-6);
}

TEST(Fusion, DotsWriteIntoWindowsAndTransposedResults) {
  const Module module = module_of(
      "(%x: tensor<6x4xf32>, %y: tensor<4x5xf32>, %z: tensor<4x5xf32>) -> (tensor<6x10xf32>, "
      "tensor<5x6xf32>)",
      R"(
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %1 = stablehlo.dot_general %x, %z, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x10xf32>
    %s = stablehlo.add %y, %z : tensor<4x5xf32>
    %3 = stablehlo.dot_general %x, %s, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<6x5xf32>) -> tensor<5x6xf32>
    return %2, %4 : tensor<6x10xf32>, tensor<5x6xf32>)");
  EXPECT_EQ(kinds(plan_of(module)), (Kinds{{"dot", 3}, {"elementwise", 1}}));
  expect_meaning(module, 1e-6);
}

TEST(Fusion, NoKernelDependsOnItselfThroughAnotherStep) {
  // %2 needs %0 through the reduction: they cannot be one kernel, though their shapes agree.
  const Module module = module_of("(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)", R"(
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.negate %x : tensor<8x8xf32>
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
    %3 = stablehlo.add %2, %0 : tensor<8x8xf32>
    return %3, %0 : tensor<8x8xf32>, tensor<8x8xf32>)");
  EXPECT_EQ(kinds(plan_of(module)), (Kinds{{"elementwise", 2}, {"reduce", 1}}));
  expect_meaning(module);
}

TEST(Fusion, LongChainsAreCutIntoKernelsOfBoundedLength) {
  std::string body;
  std::string last = "%x";
  for (int i = 0; i < 500; ++i) {
    const std::string next = "%v" + std::to_string(i);
    body += "    " + next + " = stablehlo.add " + last + ", %x : tensor<16xf32>\n";
    last = next;
  }
  const Module module = module_of("(%x: tensor<16xf32>) -> tensor<16xf32>",
                                  body + "    return " + last + " : tensor<16xf32>");
  const plan::Plan plan = plan_of(module);
  for (const plan::Step& step : plan.programs(0).body().steps())
    EXPECT_LE(step.elementwise().program().instructions_size(), 80);
  EXPECT_LE(kinds(plan)["elementwise"], 9);
  expect_meaning(module);
}

}  // namespace
}  // namespace spmd::testing
