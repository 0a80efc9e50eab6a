// Programs on which partitioning was once wrong, as small as they get.
#include "gtest/gtest.h"
#include "ir/evaluator.h"
#include "ir/text.h"
#include "tests/differential/same_meaning.h"

namespace spmd::testing {
namespace {

// Along a dimension that slices span, indices are clamped to 0: no rank may shift them.
TEST(PartitionRegressions, GatherIndexOfASpannedDimension) {
  expect_same_meaning(
      "\"x\"=2",
      R"((%arg0: tensor<6x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<1x3x1xi32>) -> tensor<1x6x3x6xi32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 6, 6>}> : (tensor<6x6xi32>, tensor<1x3x1xi32>) -> tensor<1x6x3x6xi32>
    return %0 : tensor<1x6x3x6xi32>
  })");
}

// A scatter's window that spans its dimension still moves with the index, and stands out.
TEST(PartitionRegressions, ScatterWindowThatSpansAnIndexedDimension) {
  expect_same_meaning(
      "\"x\"=2",
      R"((%arg0: tensor<1x6x13xf32>, %arg1: tensor<i32>, %arg2: tensor<1x6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) -> tensor<1x6x13xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [1]>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<1x6x13xf32>, tensor<i32>, tensor<1x6x5xf32>) -> tensor<1x6x13xf32>
    return %0 : tensor<1x6x13xf32>
  })");
}

// Updates in the padding of the indices go nowhere, and neither does a part of their windows.
TEST(PartitionRegressions, ScatterOfWindowsWithAnUnevenIndexBatch) {
  expect_same_meaning(
      "\"z\"=2",
      R"((%arg0: tensor<2x5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"z"}]>}, %arg1: tensor<9x4xf32>, %arg2: tensor<2x5x9x3xf32>) -> tensor<9x4xf32> {
    %0 = "stablehlo.scatter"(%arg1, %arg0, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 3], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<9x4xf32>, tensor<2x5xi32>, tensor<2x5x9x3xf32>) -> tensor<9x4xf32>
    return %0 : tensor<9x4xf32>
  })");
}

// The minor part of a split dimension cannot be sharded while its major part is padded.
TEST(PartitionRegressions, ReshapeSplitsADimensionWhoseMajorPartIsPadded) {
  expect_same_meaning(
      "\"x\"=4",
      R"((%arg0: tensor<4xf32>) -> (tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.reshape %arg0 : (tensor<4xf32>) -> tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  })");
}
TEST(PartitionRegressions, ReshapeOfADimensionShardedMoreThanItIsLong) {
  expect_same_meaning(
      "\"x\"=2, \"y\"=4",
      R"((%arg0: tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>}) -> tensor<3x2x2xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<3x4xf32>) -> tensor<3x2x2xf32>
    return %0 : tensor<3x2x2xf32>
  })");
  expect_same_meaning(
      "\"x\"=4",
      R"((%arg0: tensor<2x2x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> tensor<4x2xi32> {
    %0 = stablehlo.reshape %arg0 : (tensor<2x2x2xi32>) -> tensor<4x2xi32>
    return %0 : tensor<4x2xi32>
  })");
}
TEST(PartitionRegressions, ReshapeWhoseMiddlePartLosesItsAxes) {
  expect_same_meaning(
      "\"x\"=2, \"y\"=2, \"z\"=2",
      R"((%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"z"}]>}) -> tensor<2x8xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<4x4xf32>) -> tensor<2x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"z", "y"}, {"x"}]> : tensor<2x8xf32>
    return %1 : tensor<2x8xf32>
  })");
}
TEST(PartitionRegressions, ReshapeWhoseMinorPartIsPaddedElsewhere) {
  expect_same_meaning(
      "\"x\"=4",
      R"((%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<2x2xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<4xf32>) -> tensor<2x2xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"x"}]> : tensor<2x2xf32>
    return %1 : tensor<2x2xf32>
  })");
}

// Features divide by the shards, their groups do not.
TEST(PartitionRegressions, ConvolutionWithUnevenGroups) {
  expect_same_meaning("\"x\"=2",
                      R"((%arg0: tensor<2x6x7xf32>, %arg1: tensor<2x2x6xf32>) -> tensor<5x7x6xf32> {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [0, f, b]x[i, 0, o]->[0, b, f], window = {stride = [1], pad = [[1, 2]], lhs_dilate = [2], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x6x7xf32>, tensor<2x2x6xf32>) -> tensor<5x7x6xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {}, {"x"}]> : tensor<5x7x6xf32>
    return %1 : tensor<5x7x6xf32>
  })");
}

// Rows beyond the operand count for nothing in any component of a reducer of pairs, whatever the
// reduction starts with.
TEST(PartitionRegressions, WindowsOfPairsThatDoNotStartWithTheIdentity) {
  expect_same_meaning("\"x\"=2", R"((
      %a: tensor<13x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<13x1xi32>,
      %c: tensor<f32>, %d: tensor<i32>) -> tensor<4x1xf32> {
    %0:2 = "stablehlo.reduce_window"(%a, %b, %c, %d) <{padding = dense<[[-1, 2], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 8, 1>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<i32>, %u: tensor<f32>, %v: tensor<i32>):
      %s = stablehlo.add %x, %u : tensor<f32>
      %t = stablehlo.add %y, %v : tensor<i32>
      stablehlo.return %s, %t : tensor<f32>, tensor<i32>
    }) : (tensor<13x1xf32>, tensor<13x1xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x1xf32>, tensor<4x1xi32>)
    return %0#0 : tensor<4x1xf32>
  })");
}

// (a, b) and (c, d) make (a + c, b + d + ac): sums, and sums of products of two. What the reduction
// starts with counts once for each window, not for rows beyond the edge too.
TEST(PartitionRegressions, WindowsOfPairsByAReducerWithoutAKnownIdentity) {
  const std::string text = R"(module @test {
sdy.mesh @mesh = <["x"=2]>
func.func public @main(
      %a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<4xf32>,
      %c: tensor<f32>, %d: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0:2 = "stablehlo.reduce_window"(%a, %b, %c, %d) <{padding = dense<[[1, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>, %u: tensor<f32>, %v: tensor<f32>):
      %s = stablehlo.add %x, %u : tensor<f32>
      %p = stablehlo.multiply %x, %u : tensor<f32>
      %q = stablehlo.add %y, %v : tensor<f32>
      %t = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s, %t : tensor<f32>, tensor<f32>
    }) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
  }
})";
  const TensorType row{DType::kF32, {4}}, scalar{DType::kF32, {}};
  const std::vector<Literal> inputs = {Literal::of<float>(row, {1, 2, 3, 4}),
                                       Literal::splat(row, 0.0), Literal::splat(scalar, 10),
                                       Literal::splat(scalar, 100)};
  // Of {1, 2}: 10 + 3, and 100 + 10 * 3 + 1 * 2.
  const std::vector<Literal> results = evaluate(parse_stablehlo(text, "test.mlir"), inputs);
  EXPECT_EQ(results[0], Literal::of<float>(row, {13, 16, 19, 17}));
  EXPECT_EQ(results[1], Literal::of<float>(row, {132, 171, 216, 182}));
  expect_same_meaning(text);
}

// By exclusive or, of which the identity is known.
TEST(PartitionRegressions, WindowsOfBitsThatDoNotStartWithTheIdentity) {
  expect_same_meaning("\"x\"=2", R"((
      %a: tensor<5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<i32>) -> tensor<5xi32> {
    %0 = "stablehlo.reduce_window"(%a, %b) <{padding = dense<[[1, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %s = stablehlo.xor %x, %y : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>
    return %0 : tensor<5xi32>
  })");
}

// Rows of no elements have their largest too: slices that pick their places are as short.
TEST(PartitionRegressions, TopKOfNoRows) {
  expect_same_meaning("\"x\"=2", R"((
      %a: tensor<0x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<0x3xi32> {
    %0:2 = chlo.top_k(%a, k = 3) : tensor<0x6xi32> -> (tensor<0x3xi32>, tensor<0x3xi32>)
    return %0#1 : tensor<0x3xi32>
  })");
}

// Nothing but a row or less, cut over more ranks than there are rows.
TEST(PartitionRegressions, RowsOfNothingAreCut) {
  expect_same_meaning("\"x\"=2", R"((
      %a: tensor<0x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<1x3xi32>,
      %c: tensor<i32>) -> (tensor<0x3xi32>, tensor<1x3xi32>, tensor<2x3xi32>) {
    %0 = stablehlo.reverse %a, dims = [0, 1] : tensor<0x3xi32>
    %1 = stablehlo.concatenate %0, %b, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<0x3xi32>, tensor<1x3xi32>) -> tensor<1x3xi32>
    %2 = stablehlo.pad %0, %c, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<0x3xi32>, tensor<i32>) -> tensor<2x3xi32>
    return %0, %1, %2 : tensor<0x3xi32>, tensor<1x3xi32>, tensor<2x3xi32>
  })");
}

TEST(PartitionRegressions, ComplexProductsAreNotContracted) {
  expect_same_meaning("\"x\"=1", R"((%a: tensor<2x9xf32>) -> tensor<2x9xf32> {
    %0 = stablehlo.complex %a, %a : tensor<2x9xcomplex<f32>>
    %1 = stablehlo.multiply %0, %0 : tensor<2x9xcomplex<f32>>
    %2 = stablehlo.real %1 : (tensor<2x9xcomplex<f32>>) -> tensor<2x9xf32>
    return %2 : tensor<2x9xf32>
  })");
}

}  // namespace
}  // namespace spmd::testing
