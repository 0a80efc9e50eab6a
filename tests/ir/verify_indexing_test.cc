#include "tests/ir/verify_testing.h"

namespace spmd::testing {
namespace {

const VerifierRow kSlices[] = {
    {"%a: tensor<5xf32>, %i: tensor<ui8>",
     "%0 = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<5xf32>, tensor<ui8>) -> "
     "tensor<2xf32>",
     ""},
    {"%a: tensor<5xf32>, %i: tensor<f32>",
     "%0 = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<5xf32>, tensor<f32>) -> "
     "tensor<2xf32>",
     "stablehlo.dynamic_slice: start index 0 is tensor<f32>, expected a scalar integer"},
    {"%a: tensor<5xf32>, %i: tensor<0xi32>",
     "%0 = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<5xf32>, tensor<0xi32>) -> "
     "tensor<2xf32>",
     "stablehlo.dynamic_slice: start index 0 is tensor<0xi32>, expected a scalar integer"},
    {"%a: tensor<5x5xf32>, %i: tensor<i32>, %j: tensor<i64>",
     "%0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [2, 2] : (tensor<5x5xf32>, tensor<i32>, "
     "tensor<i64>) -> tensor<2x2xf32>",
     "stablehlo.dynamic_slice: start indices are tensor<i32> and tensor<i64>, expected one type"},
    {"%a: tensor<5xf32>, %i: tensor<i32>",
     "%0 = stablehlo.dynamic_slice %a, %i, sizes = [6] : (tensor<5xf32>, tensor<i32>) -> "
     "tensor<6xf32>",
     "stablehlo.dynamic_slice: size 6 does not fit dimension 0 of tensor<5xf32>"},
    {"%a: tensor<5xf32>",
     "%0 = stablehlo.dynamic_slice %a, sizes = [2] : (tensor<5xf32>) -> tensor<2xf32>",
     "stablehlo.dynamic_slice: dynamic_slice needs one start index and size per dimension"},
    {"%a: tensor<5xf32>, %u: tensor<6xf32>, %i: tensor<i32>",
     "%0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<5xf32>, tensor<6xf32>, "
     "tensor<i32>) -> tensor<5xf32>",
     "stablehlo.dynamic_update_slice: the update is larger than the operand"},
    {"%a: tensor<5xf32>, %u: tensor<2xi32>, %i: tensor<i32>",
     "%0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<5xf32>, tensor<2xi32>, "
     "tensor<i32>) -> tensor<5xf32>",
     "stablehlo.dynamic_update_slice: dynamic_update_slice needs an update of equal rank and one "
     "start per dimension"},
    {"%a: tensor<5xf32>, %u: tensor<2xf32>, %i: tensor<1xi32>",
     "%0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<5xf32>, tensor<2xf32>, "
     "tensor<1xi32>) -> tensor<5xf32>",
     "stablehlo.dynamic_update_slice: start index 0 is tensor<1xi32>, expected a scalar integer"},
};

TEST(VerifyIndexing, DynamicSlices) { check_rows(kSlices); }

// Of rows of an 8x4x4 operand; batching rows replace `numbers` and the rest.
std::string gather(const std::string& numbers, const std::string& sizes = "1, 4, 4",
                   const std::string& indices = "tensor<3x1xi32>",
                   const std::string& result = "tensor<3x4x4xf32>",
                   const std::string& operand = "tensor<8x4x4xf32>") {
  return rejection(
      main_text("(%a: " + operand + ", %i: " + indices + ")",
                "    %0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<" +
                    numbers + ">, slice_sizes = array<i64: " + sizes + ">}> : (" + operand + ", " +
                    indices + ") -> " + result + "\n    return"));
}

TEST(VerifyIndexing, GatherDimensionNumbers) {
  const auto rows = [](const std::string& offset, const std::string& collapsed,
                       const std::string& map, int vector_dim) {
    return fmt::format(
        "offset_dims = [{}], collapsed_slice_dims = [{}], start_index_map = [{}], "
        "index_vector_dim = {}",
        offset, collapsed, map, vector_dim);
  };
  const std::string op = "stablehlo.gather: ";
  EXPECT_EQ(gather(rows("1, 2", "0", "0", 1)), "");
  EXPECT_EQ(gather(rows("2, 1", "0", "0", 1)), op + "offset_dims are not in ascending order");
  EXPECT_EQ(gather(rows("1, 3", "0", "0", 1)),
            op + "offset dimension 3 is out of range for rank 3");
  EXPECT_EQ(gather(rows("1", "0", "0", 1)), op + "offset_dims do not match the slices of gather");
  EXPECT_EQ(gather(rows("1, 2", "3", "0", 1)),
            op + "gather dimension 3 is out of range for rank 3");
  EXPECT_EQ(gather(rows("1", "1, 0", "0", 1), "1, 1, 4", "tensor<3x1xi32>", "tensor<3x4xf32>"),
            op + "collapsed_slice_dims are not in ascending order");
  EXPECT_EQ(gather(rows("1, 2", "0", "5", 1)),
            op + "start_index_map entry 5 is out of range for rank 3");
  EXPECT_EQ(gather(rows("1, 2", "0", "0, 1", 1)), op + "index vectors of 1 components, expected 2");
  EXPECT_EQ(gather(rows("1, 2", "0", "0", 3)), op + "index_vector_dim is out of range");
  EXPECT_EQ(gather(rows("1, 2", "0", "0", 1), "2, 4, 4"),
            op + "a collapsed slice of gather is not 1");
  EXPECT_EQ(gather(rows("1, 2", "0", "0", 1), "1, 5, 4"),
            op + "a slice of gather is larger than its operand");
  EXPECT_EQ(gather(rows("1, 2", "0", "0", 1), "1, 4"),
            op + "gather needs one slice size per dimension");
  EXPECT_EQ(gather(rows("1, 2", "0", "0", 1), "1, 4, 4", "tensor<3x1xf32>"),
            op + "indices are not integers");
  EXPECT_EQ(gather(rows("1, 2", "0", "0", 1), "1, 4, 4", "tensor<3x1xi32>", "tensor<3x4x4xf64>"),
            op + "result 0 has type tensor<3x4x4xf64>, expected tensor<3x4x4xf32>");
}

TEST(VerifyIndexing, GatherBatchingDimensions) {
  const auto batched = [](const std::string& collapsed, const std::string& map,
                          const std::string& operand, const std::string& indices) {
    return "offset_dims = [2], collapsed_slice_dims = [" + collapsed +
           "], operand_batching_dims = [" + operand + "], start_indices_batching_dims = [" +
           indices + "], start_index_map = [" + map + "], index_vector_dim = 2";
  };
  const auto reject = [&](const std::string& numbers) {
    return gather(numbers, "1, 1, 4", "tensor<8x3x1xi32>", "tensor<8x3x4xf32>");
  };
  const std::string op = "stablehlo.gather: ";
  EXPECT_EQ(reject(batched("1", "1", "0", "0")), "");
  EXPECT_EQ(reject(batched("1", "0", "0", "0")),
            op + "dimension 0 is both indexed and a batching dimension");
  EXPECT_EQ(reject(batched("0", "1", "0", "0")), op + "gather dimension 0 occurs twice");
  EXPECT_EQ(reject(batched("1", "1", "0", "")),
            op + "batching dimensions of gather differ in number");
  EXPECT_EQ(reject(batched("1", "1", "0", "1")),
            op + "batching dimensions of gather differ in size, or their slices are not 1");
  EXPECT_EQ(reject(batched("1", "1", "0", "2")),
            op + "batching dimensions of gather differ in size, or their slices are not 1");
  // Of a batch of nothing, slices of nothing: no slice is larger than its operand.
  const auto of_nothing = [&](const std::string& slice_sizes) {
    return gather(batched("1", "1", "0", "0"), slice_sizes, "tensor<0x3x1xi32>",
                  "tensor<0x3x4xf32>", "tensor<0x4x4xf32>");
  };
  EXPECT_EQ(of_nothing("0, 1, 4"), "");
  EXPECT_EQ(of_nothing("1, 1, 4"),
            op + "batching dimensions of gather differ in size, or their slices are not 1");
}

struct Scatter {
  std::string numbers =
      "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
      "index_vector_dim = 1";
  std::string indices = "tensor<3x1xi32>", updates = "tensor<3x4xf32>", element = "f32";

  std::string rejection() const {
    const std::string types = "(tensor<8x4xf32>, " + indices + ", " + updates + ")";
    return testing::rejection(
        main_text("(%a: tensor<8x4xf32>, %i: " + indices + ", %u: " + updates + ")",
                  "    %0 = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers = "
                  "#stablehlo.scatter<" +
                      numbers + ">}> ({\n    ^bb0(%p: tensor<" + element + ">, %q: tensor<" +
                      element + ">):\n      stablehlo.return %q : tensor<" + element +
                      ">\n    }) : " + types + " -> tensor<8x4xf32>\n    return"));
  }
  Scatter with(const std::string& from, const std::string& to) const {
    Scatter other = *this;
    other.numbers.replace(other.numbers.find(from), from.size(), to);
    return other;
  }
};

TEST(VerifyIndexing, Scatter) {
  const std::string op = "stablehlo.scatter: ";
  const Scatter good;
  EXPECT_EQ(good.rejection(), "");
  EXPECT_EQ(good.with("inserted_window_dims = [0]", "inserted_window_dims = [6]").rejection(),
            op + "inserted or batching dimension 6 is out of range for rank 2");
  EXPECT_EQ(good.with("update_window_dims = [1]", "update_window_dims = [-1]").rejection(),
            op + "update window dimension -1 is out of range for rank 2");
  EXPECT_EQ(good.with("operand_dims = [0]", "operand_dims = [5]").rejection(),
            op + "scatter_dims_to_operand_dims entry 5 is out of range for rank 2");
  EXPECT_EQ(good.with("operand_dims = [0]", "operand_dims = []").rejection(),
            op + "index vectors of 1 components, expected 0");
  EXPECT_EQ(good.with("index_vector_dim = 1", "index_vector_dim = 4").rejection(),
            op + "index_vector_dim is out of range");
  Scatter scatter;
  scatter.indices = "tensor<3x1xf32>";
  EXPECT_EQ(scatter.rejection(), op + "indices are not integers");
  scatter = {};
  scatter.updates = "tensor<3x5xf32>";
  EXPECT_EQ(scatter.rejection(), op + "an update window is larger than the operand");
  scatter.updates = "tensor<2x4xf32>";
  EXPECT_EQ(scatter.rejection(), op + "updates do not match the indices");
  scatter.updates = "tensor<3x4xi32>";
  EXPECT_EQ(scatter.rejection(), op + "update 0 is tensor<3x4xi32>, expected elements of f32");
  scatter = {};
  scatter.element = "f64";
  EXPECT_EQ(scatter.rejection(),
            op + "the reducer is (tensor<f64>, tensor<f64>) -> (tensor<f64>), expected "
                 "(tensor<f32>, tensor<f32>) -> (tensor<f32>)");
}

TEST(VerifyIndexing, ScatterBatchingDimensions) {
  const std::string op = "stablehlo.scatter: ";
  Scatter batched;
  batched.numbers =
      "inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = "
      "[0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1";
  batched.indices = "tensor<8x1xi32>";
  batched.updates = "tensor<8xf32>";
  EXPECT_EQ(batched.rejection(), "");
  EXPECT_EQ(batched.with("operand_dims = [1]", "operand_dims = [0]").rejection(),
            op + "dimension 0 is both indexed and a batching dimension");
  EXPECT_EQ(batched.with("indices_batching_dims = [0]", "indices_batching_dims = [1]").rejection(),
            op + "batching dimensions of scatter differ in size");
  EXPECT_EQ(batched.with("indices_batching_dims = [0]", "indices_batching_dims = []").rejection(),
            op + "batching dimensions of scatter differ in number");
}

}  // namespace
}  // namespace spmd::testing
