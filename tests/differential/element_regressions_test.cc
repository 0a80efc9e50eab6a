// Element types and unreduced declarations on which a stage was once wrong, as small as they get.
#include "gtest/gtest.h"
#include "tests/differential/same_meaning.h"

namespace spmd::testing {
namespace {

constexpr const char* kTwo = R"("x"=2)";

TEST(ElementRegressions, BitsOfFourBitElements) {
  expect_same_meaning(
      kTwo,
      R"((%arg0: tensor<8xi4>, %arg1: tensor<8xui4>) -> (tensor<8xi4>, tensor<8xui4>, tensor<8xui4>, tensor<8xi4>, tensor<8xui4>) {
    %0 = stablehlo.count_leading_zeros %arg0 : tensor<8xi4>
    %1 = stablehlo.popcnt %arg1 : tensor<8xui4>
    %2 = stablehlo.shift_left %arg1, %1 : tensor<8xui4>
    %3 = stablehlo.shift_right_logical %arg0, %0 : tensor<8xi4>
    %4 = stablehlo.not %arg1 : tensor<8xui4>
    %5 = stablehlo.shift_right_arithmetic %4, %1 : tensor<8xui4>
    return %0, %1, %2, %3, %5 : tensor<8xi4>, tensor<8xui4>, tensor<8xui4>, tensor<8xi4>, tensor<8xui4>
  })");
}

TEST(ElementRegressions, BitcastsToAndFromFourBits) {
  expect_same_meaning(
      kTwo,
      R"((%arg0: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<4x4xi4>, %arg2: tensor<3x2xui4>) -> (tensor<3x8xui4>, tensor<4xui16>, tensor<3xi8>, tensor<3x2xi4>) {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<3xf32>) -> tensor<3x8xui4>
    %1 = stablehlo.bitcast_convert %arg1 : (tensor<4x4xi4>) -> tensor<4xui16>
    %2 = stablehlo.bitcast_convert %arg2 : (tensor<3x2xui4>) -> tensor<3xi8>
    %3 = stablehlo.not %arg2 : tensor<3x2xui4>
    %4 = stablehlo.bitcast_convert %3 : (tensor<3x2xui4>) -> tensor<3x2xi4>
    return %0, %1, %2, %4 : tensor<3x8xui4>, tensor<4xui16>, tensor<3xi8>, tensor<3x2xi4>
  })");
}

TEST(ElementRegressions, ReductionsInAWiderType) {
  expect_same_meaning(
      kTwo,
      R"((%arg0: tensor<bf16>, %arg1: tensor<8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg2: tensor<4xi8>, %arg3: tensor<i8>) -> (tensor<f32>, tensor<3xi32>) {
    %0 = stablehlo.reduce(%arg1 init: %arg0) applies stablehlo.add across dimensions = [0] : (tensor<8xbf16>, tensor<bf16>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg2, %arg3) <{window_dimensions = array<i64: 2>}> ({
    ^bb0(%arg4: tensor<i32>, %arg5: tensor<i32>):
      %2 = stablehlo.add %arg4, %arg5 : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }) : (tensor<4xi8>, tensor<i8>) -> tensor<3xi32>
    return %0, %1 : tensor<f32>, tensor<3xi32>
  })");
}

// Indices are counted from where a rank's block begins, which four bits do not hold.
TEST(ElementRegressions, NarrowIndicesIntoPaddedDimensions) {
  expect_same_meaning(
      kTwo,
      R"((%arg0: tensor<1x21xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg1: tensor<2x1xf32>, %arg2: tensor<2xi4>, %arg3: tensor<ui64>) -> (tensor<1x21xf32>, tensor<1x3xf32>) {
    %0 = "stablehlo.scatter"(%arg0, %arg2, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %2 = stablehlo.add %arg4, %arg5 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<1x21xf32>, tensor<2xi4>, tensor<2x1xf32>) -> tensor<1x21xf32>
    %1 = stablehlo.dynamic_slice %arg0, %arg3, %arg3, sizes = [1, 3] : (tensor<1x21xf32>, tensor<ui64>, tensor<ui64>) -> tensor<1x3xf32>
    return %0, %1 : tensor<1x21xf32>, tensor<1x3xf32>
  })");
}

// The largest unsigned index is beyond every dimension; as a signed one it would be before.
TEST(ElementRegressions, HugeUnsignedIndices) {
  expect_same_meaning(
      kTwo,
      R"((%arg0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<2xui64>) -> tensor<2xf32> {
    %c = stablehlo.constant dense<1> : tensor<2xui64>
    %0 = stablehlo.subtract %arg1, %c : tensor<2xui64>
    %1 = "stablehlo.gather"(%arg0, %0) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<6xf32>, tensor<2xui64>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  })");
}

// Counts that the type does not hold: they wrap, or are rounded, once and not on every rank anew.
TEST(ElementRegressions, CountsInNarrowTypes) {
  expect_same_meaning(
      R"("x"=4)",
      R"((%arg0: tensor<13xi32>, %arg1: tensor<13xi32>) -> (tensor<13xi32>, tensor<1200xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<20xui4> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<300xi8>) {
    %0 = stablehlo.iota dim = 0 : tensor<13x1xi4>
    %1 = "stablehlo.scatter"(%arg1, %0, %arg0) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>):
      %2 = stablehlo.or %arg2, %arg3 : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }) : (tensor<13xi32>, tensor<13x1xi4>, tensor<13xi32>) -> tensor<13xi32>
    %3 = stablehlo.iota dim = 0 : tensor<1200xbf16>
    %4 = stablehlo.iota dim = 0 : tensor<20xui4>
    %5 = stablehlo.iota dim = 0 : tensor<300xi8>
    return %1, %3, %4, %5 : tensor<13xi32>, tensor<1200xbf16>, tensor<20xui4>, tensor<300xi8>
  })");
}

// What a pad takes is written into its result, from the second element on.
TEST(ElementRegressions, WiderBitcastOfAWindow) {
  expect_same_meaning(
      kTwo,
      R"((%arg0: tensor<2xf32>, %arg1: tensor<4xi32>, %arg2: tensor<i32>) -> (tensor<i64>, tensor<7xi32>) {
    %0 = stablehlo.convert %arg0 : (tensor<2xf32>) -> tensor<2xi32>
    %1 = stablehlo.pad %0, %arg2, low = [1], high = [0], interior = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<3xi32>
    %2 = stablehlo.bitcast_convert %0 : (tensor<2xi32>) -> tensor<i64>
    %3 = stablehlo.concatenate %1, %arg1, dim = 0 : (tensor<3xi32>, tensor<4xi32>) -> tensor<7xi32>
    return %2, %3 : tensor<i64>, tensor<7xi32>
  })");
}

// Padding that a minimum must not see: f8E4M3FN has no infinity.
TEST(ElementRegressions, MinimumOfPaddedSmallFloats) {
  expect_same_meaning(
      kTwo,
      R"((%arg0: tensor<1x3xf8E4M3FN> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg1: tensor<f8E4M3FN>) -> (tensor<f8E4M3FN>, tensor<f8E4M3FN>) {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.minimum across dimensions = [0, 1] : (tensor<1x3xf8E4M3FN>, tensor<f8E4M3FN>) -> tensor<f8E4M3FN>
    %1 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<1x3xf8E4M3FN>, tensor<f8E4M3FN>) -> tensor<f8E4M3FN>
    return %0, %1 : tensor<f8E4M3FN>, tensor<f8E4M3FN>
  })");
}

// An argument declared unreduced was summed over the ranks, each of which held all of it.
TEST(ElementRegressions, UnreducedArgument) {
  expect_same_meaning(
      kTwo,
      R"((%arg0: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}, %arg1: tensor<9xf32>) -> tensor<29xf32> {
    %0 = stablehlo.concatenate %arg0, %arg0, %arg1, dim = 0 : (tensor<10xf32>, tensor<10xf32>, tensor<9xf32>) -> tensor<29xf32>
    return %0 : tensor<29xf32>
  })");
}

TEST(ElementRegressions, UnreducedResultAndConstraint) {
  expect_same_meaning(
      R"("x"=1, "y"=2)",
      R"((%arg0: tensor<f32>, %arg1: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, [], unreduced={"y"}>}, tensor<f32>) {
    %0 = stablehlo.reduce(%arg1 init: %arg0) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={"x", "y"}>]>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %1 = sdy.sharding_constraint %0 <@mesh, [], unreduced={"y"}> : tensor<f32>
    %2 = stablehlo.tanh %1 : tensor<f32>
    return %0, %2 : tensor<f32>, tensor<f32>
  })");
}

}  // namespace
}  // namespace spmd::testing
