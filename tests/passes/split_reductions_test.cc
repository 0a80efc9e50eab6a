#include "passes/split_reductions.h"

#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

Module reduction(const std::string& shape, const std::string& dtype, const std::string& reducer,
                 const std::string& dims, const std::string& result) {
  const std::string type = "tensor<" + shape + dtype + ">", scalar = "tensor<" + dtype + ">";
  return program({type, scalar}, "%0 = stablehlo.reduce(%x0 init: %x1) applies stablehlo." +
                                     reducer + " across dimensions = " + dims + " : (" + type +
                                     ", " + scalar + ") -> tensor<" + result + dtype +
                                     ">\nreturn %0 : tensor<" + result + dtype + ">");
}

// Column sums: two pieces of 32 columns each, so rows are cut into as many parts as are worth it.
TEST(SplitReductions, ColumnSums) {
  expect_rewrite(split_reductions_pass(), reduction("8x1024x64x", "f32", "add", "[0, 1]", "64x"),
                 R"(
    %0 = stablehlo.reshape %arg0 : (tensor<8x1024x64xf32>) -> tensor<8x8x128x64xf32>
    %1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [2] : (tensor<8x8x128x64xf32>, tensor<f32>) -> tensor<8x8x64xf32>
    %3 = stablehlo.reduce(%2 init: %arg1) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8x64xf32>, tensor<f32>) -> tensor<64xf32>
    return %3 : tensor<64xf32>)");
}

// Between the two, sums of 16-bit floats are float32.
TEST(SplitReductions, SixteenBitSumsAreRoundedOnce) {
  expect_rewrite(split_reductions_pass(), reduction("4096x64x", "bf16", "add", "[0]", "64x"), R"(
    %0 = stablehlo.reshape %arg0 : (tensor<4096x64xbf16>) -> tensor<32x128x64xbf16>
    %1 = stablehlo.convert %0 : (tensor<32x128x64xbf16>) -> tensor<32x128x64xf32>
    %2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [1] : (tensor<32x128x64xf32>, tensor<f32>) -> tensor<32x64xf32>
    %4 = stablehlo.convert %arg1 : (tensor<bf16>) -> tensor<f32>
    %5 = stablehlo.reduce(%3 init: %4) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %6 = stablehlo.convert %5 : (tensor<64xf32>) -> tensor<64xbf16>
    return %6 : tensor<64xbf16>)");
}

TEST(SplitReductions, ToOneNumber) {
  Module module = reduction("1048576x", "f32", "maximum", "[0]", "");
  const Module before = module.clone();
  EXPECT_TRUE(apply(split_reductions_pass(), module));
  EXPECT_EQ(count_ops(module, OpCode::kReduce), 2);
  expect_same_values(before, module);
}

// Few elements, and results enough that there is work for all.
TEST(SplitReductions, LeavesOthersAlone) {
  expect_unchanged(split_reductions_pass(), reduction("64x64x", "f32", "add", "[0]", "64x"));
  expect_unchanged(split_reductions_pass(), reduction("512x1024x", "f32", "add", "[1]", "512x"));
  expect_unchanged(split_reductions_pass(), reduction("64x8192x", "f32", "add", "[0]", "8192x"));
}

}  // namespace
}  // namespace spmd::testing
