// Factor rules as text, one op each: expectations written by hand.
#include "gtest/gtest.h"
#include "ir/text.h"
#include "sharding/rules/factor_rule.h"

namespace spmd::testing {
namespace {

// The rule of the first op in `body` that has one and is no constant.
std::string rule_of(const std::string& arguments, const std::string& body) {
  const Module module = parse_stablehlo(
      "func.func public @main(" + arguments + ") {\n" + body + "\nreturn\n}", "rules.mlir");
  const Function& main = module.main();
  for (OpId id = main.block(main.body()).first; id != OpId::kNone; id = main.op(id).next) {
    if (main.op(id).code == OpCode::kConstant) continue;
    const auto rule = factor_rule(main, id);
    return rule ? rule->to_string() : "none";
  }
  return "no op";
}

TEST(FactorRules, Elementwise) {
  EXPECT_EQ(rule_of("%a: tensor<4x8xf32>, %b: tensor<4x8xf32>",
                    "%0 = stablehlo.add %a, %b : tensor<4x8xf32>"),
            "([i, j], [i, j])->([i, j]) {i=4, j=8}");
  // A scalar predicate holds for all elements.
  EXPECT_EQ(rule_of("%p: tensor<i1>, %a: tensor<4x8xf32>",
                    "%0 = stablehlo.select %p, %a, %a : tensor<i1>, tensor<4x8xf32>"),
            "([], [i, j], [i, j])->([i, j]) {i=4, j=8}");
}

TEST(FactorRules, BroadcastInDim) {
  EXPECT_EQ(rule_of("%a: tensor<4x1xf32>",
                    "%0 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<4x1xf32>) -> "
                    "tensor<4x3x8xf32>"),
            "([i, 1])->([i, j, k]) {i=4, j=3, k=8}");
}

TEST(FactorRules, ReshapeJoinsAndSplits) {
  EXPECT_EQ(rule_of("%a: tensor<6x4xf32>",
                    "%0 = stablehlo.reshape %a : (tensor<6x4xf32>) -> tensor<24xf32>"),
            "([i, j])->([ij]) {i=6, j=4}");
  EXPECT_EQ(rule_of("%a: tensor<24x5xf32>",
                    "%0 = stablehlo.reshape %a : (tensor<24x5xf32>) -> tensor<6x1x4x5xf32>"),
            "([ij, k])->([i, 1, j, k]) {i=6, j=4, k=5}");
}

TEST(FactorRules, ReshapeWithoutCommonBoundaryKeepsTheCommonMajorPart) {
  EXPECT_EQ(rule_of("%a: tensor<6x4xf32>",
                    "%0 = stablehlo.reshape %a : (tensor<6x4xf32>) -> tensor<8x3xf32>"),
            "([ij, l])->([ik, m]) {i=2, j=3, k=4, l=4, m=3} need_replication={j, k, l, m}");
}

TEST(FactorRules, Transpose) {
  EXPECT_EQ(rule_of("%a: tensor<4x8xf32>",
                    "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x8xf32>) -> "
                    "tensor<8x4xf32>"),
            "([j, i])->([i, j]) {i=8, j=4}");
}

TEST(FactorRules, ShapeOpsMoveRowsAlongTheDimensionsThatTheyChange) {
  EXPECT_EQ(rule_of("%a: tensor<8x4xf32>",
                    "%0 = stablehlo.slice %a [0:8, 1:3] : (tensor<8x4xf32>) -> tensor<8x2xf32>"),
            "([i, j])->([i, j]) {i=8, j=4} exchanged={j}");
  EXPECT_EQ(rule_of("%a: tensor<8x2xf32>, %b: tensor<8x3xf32>",
                    "%0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<8x2xf32>, "
                    "tensor<8x3xf32>) -> tensor<8x5xf32>"),
            "([i, j], [i, j])->([i, j]) {i=8, j=5} exchanged={j}");
  EXPECT_EQ(rule_of("%a: tensor<8x4xf32>, %z: tensor<f32>",
                    "%0 = stablehlo.pad %a, %z, low = [0, 1], high = [0, 0], interior = [0, 0] : "
                    "(tensor<8x4xf32>, tensor<f32>) -> tensor<8x5xf32>"),
            "([i, j], [])->([i, j]) {i=8, j=5} exchanged={j}");
  EXPECT_EQ(
      rule_of("%a: tensor<8x4xf32>", "%0 = stablehlo.reverse %a, dims = [0] : tensor<8x4xf32>"),
      "([i, j])->([i, j]) {i=8, j=4} exchanged={i}");
  // Nothing is left to cut.
  EXPECT_EQ(rule_of("%a: tensor<8x4xf32>",
                    "%0 = stablehlo.slice %a [0:8, 1:1] : (tensor<8x4xf32>) -> tensor<8x0xf32>"),
            "([i, j])->([i, k]) {i=8, j=4, k=0} need_replication={j, k}");
}

TEST(FactorRules, WindowsHaveHalos) {
  const std::string sum =
      "({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n%s = stablehlo.add %x, %y : tensor<f32>\n"
      "stablehlo.return %s : tensor<f32>\n})";
  // One element, three of them, and a cumulative sum.
  EXPECT_EQ(rule_of("%a: tensor<4x8x16xf32>, %z: tensor<f32>",
                    "%0 = \"stablehlo.reduce_window\"(%a, %z) <{padding = dense<[[0, 0], [1, 1], "
                    "[15, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 3, 16>, "
                    "window_strides = array<i64: 1, 2, 1>}> " +
                        sum + " : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x4x16xf32>"),
            "([i, j, k], [])->([i, j, k]) {i=4, j=8, k=16} exchanged={j, k}");
}

TEST(FactorRules, Dot) {
  EXPECT_EQ(rule_of("%a: tensor<2x4x8xf32>, %b: tensor<2x8x16xf32>",
                    "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], "
                    "contracting_dims = [2] x [1] : (tensor<2x4x8xf32>, tensor<2x8x16xf32>) -> "
                    "tensor<2x4x16xf32>"),
            "([i, j, l], [i, l, k])->([i, j, k]) {i=2, j=4, k=16, l=8} reduction={l}");
}

TEST(FactorRules, GroupedConvolution) {
  EXPECT_EQ(
      rule_of("%a: tensor<2x5x4xf32>, %k: tensor<3x2x6xf32>",
              "%0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
              "window = {stride = [1]} {batch_group_count = 1 : i64, feature_group_count = 2 : "
              "i64} : (tensor<2x5x4xf32>, tensor<3x2x6xf32>) -> tensor<2x3x6xf32>"),
      "([i, m, jk], [n, k, jl])->([i, m, jl]) {i=2, j=2, k=2, l=3, m=5, n=3} reduction={k} "
      "exchanged={m} need_replication={n}");
}

TEST(FactorRules, ConvolutionSumsOverTheLongerOfKernelAndResult) {
  // As in the gradient of a kernel of three taps.
  EXPECT_EQ(rule_of("%a: tensor<2x8x4xf32>, %k: tensor<6x4x5xf32>",
                    "%0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, "
                    "f], window = {stride = [1]} {batch_group_count = 1 : i64, feature_group_count "
                    "= 1 : i64} : (tensor<2x8x4xf32>, tensor<6x4x5xf32>) -> tensor<2x3x5xf32>"),
            "([i, l, j], [l, j, k])->([i, m, k]) {i=2, j=4, k=5, l=8, m=3} reduction={j, l} "
            "exchanged={l} need_replication={m}");
}

TEST(FactorRules, Reduce) {
  EXPECT_EQ(rule_of("%a: tensor<4x8x2xf32>, %z: tensor<f32>",
                    "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = "
                    "[1] : (tensor<4x8x2xf32>, tensor<f32>) -> tensor<4x2xf32>"),
            "([i, j, k], [])->([i, k]) {i=4, j=8, k=2} reduction={j}");
}

TEST(FactorRules, GatherAddressesRows) {
  EXPECT_EQ(
      rule_of("%t: tensor<16x8xf32>, %i: tensor<4x3x1xi32>",
              "%0 = \"stablehlo.gather\"(%t, %i) {dimension_numbers = #stablehlo.gather<"
              "offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], "
              "index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>} "
              ": (tensor<16x8xf32>, tensor<4x3x1xi32>) -> tensor<4x3x8xf32>"),
      "([k, l], [i, j, 1])->([i, j, l]) {i=4, j=3, k=16, l=8} indexed={k}");
}

TEST(FactorRules, ScatterAddReducesOverItsIndices) {
  EXPECT_EQ(
      rule_of("%t: tensor<16x8xf32>, %i: tensor<4x1xi32>, %u: tensor<4x8xf32>",
              "%0 = \"stablehlo.scatter\"(%t, %i, %u) <{indices_are_sorted = false, "
              "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
              "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = "
              "1>, unique_indices = false}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n%s = "
              "stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %s : tensor<f32>\n}) : "
              "(tensor<16x8xf32>, tensor<4x1xi32>, tensor<4x8xf32>) -> tensor<16x8xf32>"),
      "([j, k], [i, 1], [i, k])->([j, k]) {i=4, j=16, k=8} reduction={i} indexed={j}");
}

TEST(FactorRules, DynamicSlicesAddressRows) {
  EXPECT_EQ(rule_of("%a: tensor<8x4xf32>, %i: tensor<i32>",
                    "%0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [8, 2] : "
                    "(tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x2xf32>"),
            "([i, j], [], [])->([i, k]) {i=8, j=4, k=2} indexed={j} need_replication={k}");
  EXPECT_EQ(rule_of("%a: tensor<8x4xf32>, %u: tensor<8x2xf32>, %i: tensor<i32>",
                    "%0 = stablehlo.dynamic_update_slice %a, %u, %i, %i : (tensor<8x4xf32>, "
                    "tensor<8x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>"),
            "([i, j], [i, k], [], [])->([i, j]) {i=8, j=4, k=2} indexed={j} need_replication={k}");
}

TEST(FactorRules, AnUpdateAtAConstantPlaceMayBeShardedToo) {
  EXPECT_EQ(rule_of("%a: tensor<8x4xf32>, %u: tensor<8x2xf32>",
                    "%i = stablehlo.constant dense<1> : tensor<i32>\n"
                    "%0 = stablehlo.dynamic_update_slice %a, %u, %i, %i : (tensor<8x4xf32>, "
                    "tensor<8x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>"),
            "([i, j], [i, j], [], [])->([i, j]) {i=8, j=4} exchanged={j}");
}

TEST(FactorRules, TopKTakesTheLastDimensionInBlocks) {
  EXPECT_EQ(
      rule_of("%a: tensor<4x8xf32>",
              "%0:2 = chlo.top_k(%a, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, "
              "tensor<4x2xi32>)"),
      "([i, j])->([i, k], [i, l]) {i=4, j=8, k=2, l=2} exchanged={j} need_replication={k, l}");
}

TEST(FactorRules, ControlFlowHasNone) {
  EXPECT_EQ(rule_of("%a: tensor<4xf32>", "%0 = stablehlo.optimization_barrier %a : tensor<4xf32>"),
            "none");
}

TEST(FactorRules, Attention) {
  EXPECT_EQ(rule_of("%q: tensor<2x5x4x3x8xf32>, %k: tensor<2x6x4x8xf32>, %v: tensor<2x6x4x7xf32>",
                    "%0:2 = \"spmd.attention\"(%q, %k, %v) <{causal = true, scale = 0.5 : f64}> : "
                    "(tensor<2x5x4x3x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x7xf32>) -> "
                    "(tensor<2x5x4x3x7xf32>, tensor<2x4x3x5xf32>)"),
            "([i, l, j, k, m], [i, n, j, o], [i, p, j, q])->([i, r, j, k, s], [i, j, k, t]) {i=2, "
            "j=4, k=3, l=5, m=8, n=6, o=8, p=6, q=7, r=5, s=7, t=5} need_replication={l, m, n, o, "
            "p, q, r, s, t}");
}

TEST(FactorRules, LinearAlgebra) {
  EXPECT_EQ(rule_of("%a: tensor<2x4x8xcomplex<f32>>",
                    "%0 = stablehlo.fft %a, type = FFT, length = [4, 8] : "
                    "(tensor<2x4x8xcomplex<f32>>) -> tensor<2x4x8xcomplex<f32>>"),
            "([i, j, k])->([i, j, k]) {i=2, j=4, k=8} need_replication={j, k} kept={j, k}");
  EXPECT_EQ(rule_of("%a: tensor<2x4x4xf32>",
                    "%0 = stablehlo.cholesky %a, lower = true : tensor<2x4x4xf32>"),
            "([i, j, k])->([i, l, m]) {i=2, j=4, k=4, l=4, m=4} need_replication={j, k, l, m}");
  EXPECT_EQ(rule_of("%a: tensor<2x4x4xf32>, %b: tensor<2x4x3xf32>",
                    "%0 = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = true, lower = true, "
                    "transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : "
                    "(tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>"),
            "([i, k, l], [i, m, j])->([i, n, j]) {i=2, j=3, k=4, l=4, m=4, n=4} "
            "need_replication={k, l, m, n}");
}

}  // namespace
}  // namespace spmd::testing
