#include "passes/analysis/index_bounds.h"

#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

std::vector<int64_t> bounds(const std::vector<std::string>& arguments, const std::string& body) {
  return index_bounds(program(arguments, body));
}

using Bounds = std::vector<int64_t>;

// An embedding as JAX writes it: negative indices count from the end.
TEST(IndexBounds, RowsOfATable) {
  EXPECT_EQ(bounds({"tensor<8xi32>", "tensor<50x16xf32>"}, R"(
    %zero = stablehlo.constant dense<0> : tensor<8xi32>
    %rows = stablehlo.constant dense<50> : tensor<8xi32>
    %0 = stablehlo.compare LT, %x0, %zero, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %1 = stablehlo.add %x0, %rows : tensor<8xi32>
    %2 = stablehlo.select %0, %1, %x0 : tensor<8xi1>, tensor<8xi32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
    %4 = "stablehlo.gather"(%x1, %3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<50x16xf32>, tensor<8x1xi32>) -> tensor<8x16xf32>
    return %4 : tensor<8x16xf32>)"),
            (Bounds{50, 0}));
}

// Of an index vector made of two parts, each is for a dimension of its own; a window of 3 rows
// begins at one of 48.
TEST(IndexBounds, PartsOfIndexVectors) {
  EXPECT_EQ(bounds({"tensor<8x1xi32>", "tensor<8x1xi64>", "tensor<50x16xf32>"}, R"(
    %0 = stablehlo.convert %x1 : (tensor<8x1xi64>) -> tensor<8x1xi32>
    %1 = stablehlo.concatenate %x0, %0, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>
    %2 = "stablehlo.gather"(%x2, %1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 3, 1>}> : (tensor<50x16xf32>, tensor<8x2xi32>) -> tensor<8x3xf32>
    return %2 : tensor<8x3xf32>)"),
            (Bounds{48, 16, 0}));
}

TEST(IndexBounds, OneHotClasses) {
  EXPECT_EQ(bounds({"tensor<8xi32>"}, R"(
    %0 = stablehlo.broadcast_in_dim %x0, dims = [0] : (tensor<8xi32>) -> tensor<8x10xi32>
    %1 = stablehlo.iota dim = 0 : tensor<10xi32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<10xi32>) -> tensor<8x10xi32>
    %3 = stablehlo.compare EQ, %0, %2, SIGNED : (tensor<8x10xi32>, tensor<8x10xi32>) -> tensor<8x10xi1>
    return %3 : tensor<8x10xi1>)"),
            (Bounds{10}));
}

// The smallest of several.
TEST(IndexBounds, AllUsesCount) {
  EXPECT_EQ(bounds({"tensor<i32>", "tensor<20x4xf32>", "tensor<2x4xf32>"}, R"(
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %x1, %x0, %zero, sizes = [5, 4] : (tensor<20x4xf32>, tensor<i32>, tensor<i32>) -> tensor<5x4xf32>
    %1 = stablehlo.dynamic_update_slice %x1, %x2, %x0, %zero : (tensor<20x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<20x4xf32>
    return %0, %1 : tensor<5x4xf32>, tensor<20x4xf32>)"),
            (Bounds{16, 0, 0}));
}

TEST(IndexBounds, ScattersAndBranches) {
  EXPECT_EQ(bounds({"tensor<8x1xi32>", "tensor<50x16xf32>", "tensor<8x16xf32>", "tensor<i32>"}, R"(
    %0 = "stablehlo.scatter"(%x1, %x0, %x2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<50x16xf32>, tensor<8x1xi32>, tensor<8x16xf32>) -> tensor<50x16xf32>
    %1 = "stablehlo.case"(%x3) ({
      stablehlo.return %0 : tensor<50x16xf32>
    }, {
      stablehlo.return %x1 : tensor<50x16xf32>
    }, {
      stablehlo.return %x1 : tensor<50x16xf32>
    }) : (tensor<i32>) -> tensor<50x16xf32>
    return %1 : tensor<50x16xf32>)"),
            (Bounds{50, 0, 0, 3}));
}

// Tokens of each step of a scan.
TEST(IndexBounds, AreFoundInLoops) {
  EXPECT_EQ(bounds({"tensor<6xi32>", "tensor<50x4xf32>"}, R"(
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %six = stablehlo.constant dense<6> : tensor<i32>
    %sum = stablehlo.constant dense<0.0> : tensor<1x4xf32>
    %0:3 = stablehlo.while(%i = %zero, %ids = %x0, %h = %sum) : tensor<i32>, tensor<6xi32>, tensor<1x4xf32>
    cond {
      %c = stablehlo.compare LT, %i, %six, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %1 = stablehlo.dynamic_slice %ids, %i, sizes = [1] : (tensor<6xi32>, tensor<i32>) -> tensor<1xi32>
      %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
      %3 = stablehlo.dynamic_slice %x1, %2, %zero, sizes = [1, 4] : (tensor<50x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
      %4 = stablehlo.add %h, %3 : tensor<1x4xf32>
      %5 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %5, %ids, %4 : tensor<i32>, tensor<6xi32>, tensor<1x4xf32>
    }
    return %0#2 : tensor<1x4xf32>)"),
            (Bounds{50, 0}));
}

TEST(IndexBounds, NumbersThatSelectNothingHaveNone) {
  EXPECT_EQ(bounds({"tensor<8xi32>", "tensor<2xui32>"}, R"(
    %0 = stablehlo.add %x0, %x0 : tensor<8xi32>
    %1 = stablehlo.convert %x1 : (tensor<2xui32>) -> tensor<2xf32>
    return %0, %1 : tensor<8xi32>, tensor<2xf32>)"),
            (Bounds{0, 0}));
}

}  // namespace
}  // namespace spmd::testing
