#include "passes/elementwise_indexing.h"

#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

// %x1 holds an index for each of 2 x 3 rows of 5 elements, or one that is out of range.
Module placing(const std::string& zero, const std::string& updates, const std::string& indices) {
  return program({"tensor<" + updates + "xf32>", "tensor<" + indices + "xi32>"},
                 R"(
    %z = stablehlo.constant dense<)" +
                     zero + R"(> : tensor<2x3x5xf32>
    %0 = "stablehlo.scatter"(%z, %x1, %x0) <{scatter_dimension_numbers = #stablehlo.scatter<
        inserted_window_dims = [2], input_batching_dims = [0, 1],
        scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2],
        index_vector_dim = 3>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2x3x5xf32>, tensor<)" +
                     indices + "xi32>, tensor<" + updates +
                     R"(xf32>) -> tensor<2x3x5xf32>
    return %0 : tensor<2x3x5xf32>)");
}

TEST(ElementwiseIndexing, OneNumberInEachRow) {
  Module module = placing("0.0", "2x3x1", "2x3x1x1");
  const Module before = module.clone();
  EXPECT_TRUE(apply(elementwise_indexing_pass(), module));
  EXPECT_EQ(count_ops(module, OpCode::kScatter), 0);
  expect_same_values(before, module);
}

// A dimension of size 1 may be part of the updates' windows.
TEST(ElementwiseIndexing, RowsBesideADimensionOfOne) {
  Module module = program({"tensor<1x6x1xf32>", "tensor<6x1x1xi32>"}, R"(
    %z = stablehlo.constant dense<0.0> : tensor<1x6x5xf32>
    %0 = "stablehlo.scatter"(%z, %x1, %x0) <{scatter_dimension_numbers = #stablehlo.scatter<
        update_window_dims = [0], inserted_window_dims = [2], input_batching_dims = [1],
        scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2],
        index_vector_dim = 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<1x6x5xf32>, tensor<6x1x1xi32>, tensor<1x6x1xf32>) -> tensor<1x6x5xf32>
    return %0 : tensor<1x6x5xf32>)");
  const Module before = module.clone();
  EXPECT_TRUE(apply(elementwise_indexing_pass(), module));
  EXPECT_EQ(count_ops(module, OpCode::kScatter), 0);
  expect_same_values(before, module);
}

// Not: two numbers in a row, which may have one place; something there already.
TEST(ElementwiseIndexing, OtherScattersStay) {
  expect_unchanged(elementwise_indexing_pass(), placing("0.0", "2x3x2", "2x3x2x1"));
  expect_unchanged(elementwise_indexing_pass(), placing("1.0", "2x3x1", "2x3x1x1"));
}

TEST(ElementwiseIndexing, ElementsAreConvertedOnceTaken) {
  expect_rewrite(elementwise_indexing_pass(), program({"tensor<8x16xbf16>", "tensor<8x1xi32>"}, R"(
    %0 = stablehlo.convert %x0 : (tensor<8x16xbf16>) -> tensor<8x16xf32>
    %1 = "stablehlo.gather"(%0, %x1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x16xf32>, tensor<8x1xi32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>)"),
                 R"(
    %0 = stablehlo.convert %arg0 : (tensor<8x16xbf16>) -> tensor<8x16xf32>
    %1 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<8x16xbf16>, tensor<8x1xi32>) -> tensor<8xbf16>
    %2 = stablehlo.convert %1 : (tensor<8xbf16>) -> tensor<8xf32>
    return %2 : tensor<8xf32>)");
}

}  // namespace
}  // namespace spmd::testing
