// dot, einsum, ragged_dot, torch_index_select and map: values computed with NumPy.
#include "tests/ir/self_check.h"

namespace spmd::testing {
namespace {

TEST(ExpandContraction, Dot) {
  expect_checks_hold(R"(
    %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %v = stablehlo.constant dense<[1.0, -1.0, 2.0]> : tensor<3xf32>
    %w = stablehlo.constant dense<[2.0, 1.0]> : tensor<2xf32>
    %0 = stablehlo.dot %a, %v : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
    check.expect_eq_const %0, dense<[5.0, 11.0]> : tensor<2xf32>
    %1 = stablehlo.dot %w, %a, precision = [DEFAULT, DEFAULT] : (tensor<2xf32>, tensor<2x3xf32>) -> tensor<3xf32>
    check.expect_eq_const %1, dense<[6.0, 9.0, 12.0]> : tensor<3xf32>
    %2 = "stablehlo.dot"(%v, %v) : (tensor<3xf32>, tensor<3xf32>) -> tensor<f64>
    check.expect_eq_const %2, dense<6.0> : tensor<f64>)");
}

TEST(ExpandContraction, Einsum) {
  expect_checks_hold(R"(
    %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %b = stablehlo.constant dense<[[-5.0, -4.0, -3.0, -2.0], [-1.0, 0.0, 1.0, 2.0], [3.0, 4.0, 5.0, 6.0]]> : tensor<3x4xf32>
    %0 = stablehlo.einsum %a, %b, config = "ij,jk->ki" : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
    check.expect_eq_const %0, dense<[[2.0, -7.0], [8.0, 8.0], [14.0, 23.0], [20.0, 38.0]]> : tensor<4x2xf32>
    %c = stablehlo.constant dense<[[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], [[6.0, 7.0, 8.0], [9.0, 10.0, 11.0]]]> : tensor<2x2x3xf32>
    %d = stablehlo.constant dense<[[[-4.0, -3.0, -2.0], [-1.0, 0.0, 1.0], [2.0, 3.0, 4.0]], [[5.0, 6.0, 7.0], [8.0, 9.0, 10.0], [11.0, 12.0, 13.0]]]> : tensor<2x3x3xf32>
    %1 = stablehlo.einsum %c, %d, config = "bij,bjk->bki" : (tensor<2x2x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x2xf32>
    check.expect_eq_const %1, dense<[[[3.0, -6.0], [6.0, 6.0], [9.0, 18.0]], [[174.0, 246.0], [195.0, 276.0], [216.0, 306.0]]]> : tensor<2x3x2xf32>
    %2 = "stablehlo.einsum"(%c, %d) <{einsum_config = "...ij,...jk->...ki"}> : (tensor<2x2x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x2xf32>
    check.expect_eq %2, %1 : tensor<2x3x2xf32>
    %3 = stablehlo.einsum %c, %b, config = "iij,jk->ki" : (tensor<2x2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
    check.expect_eq_const %3, dense<[[5.0, -22.0], [8.0, 8.0], [11.0, 38.0], [14.0, 68.0]]> : tensor<4x2xf32>
    %4 = stablehlo.unary_einsum %a, config = "ij->j" : (tensor<2x3xf32>) -> tensor<3xf32>
    check.expect_eq_const %4, dense<[5.0, 7.0, 9.0]> : tensor<3xf32>
    %e = stablehlo.constant dense<[[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]], [[9.0, 10.0, 11.0], [12.0, 13.0, 14.0], [15.0, 16.0, 17.0]]]> : tensor<2x3x3xf32>
    %5 = stablehlo.unary_einsum %e, config = "bii->b" : (tensor<2x3x3xf32>) -> tensor<2xf32>
    check.expect_eq_const %5, dense<[12.0, 39.0]> : tensor<2xf32>
    %6 = stablehlo.unary_einsum %a, config = "ij->ji" : (tensor<2x3xf32>) -> tensor<3x2xf32>
    check.expect_eq_const %6, dense<[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]> : tensor<3x2xf32>)");
}

TEST(ExpandContraction, EquationsThatDoNotFit) {
  const auto error = [](const std::string& equation) {
    return error_of([&] {
      parse(R"(func.func @main(%x: tensor<3x2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.unary_einsum %x, config = ")" +
            equation + R"(" : (tensor<3x2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
})");
    });
  };
  EXPECT_NE(error("ijk->i").find("has not one label per dimension of operand 0"),
            std::string::npos);
  EXPECT_NE(error("ij->k").find("has a result whose labels are not the operands'"),
            std::string::npos);
  EXPECT_NE(error("i?->i").find("contains '?'"), std::string::npos);
  EXPECT_NE(error("ij,jk->i").find("has another number of operands"), std::string::npos);
  EXPECT_NE(error("ii->i").find("one label to dimensions of different sizes"), std::string::npos);
  EXPECT_NE(error("ij->i").find("result 0 is tensor<3xf32>, here it is tensor<2xf32>"),
            std::string::npos);
}

TEST(ExpandContraction, RaggedDot) {
  expect_checks_hold(R"(
    %l = stablehlo.constant dense<[[-3.0, -2.0], [-1.0, 0.0], [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<5x2xf32>
    %r = stablehlo.constant dense<[[[-5.0, -4.0], [-3.0, -2.0]], [[-1.0, 0.0], [1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]> : tensor<3x2x2xf32>
    %g = stablehlo.constant dense<[2, 0, 2]> : tensor<3xi32>
    %0 = "chlo.ragged_dot"(%l, %r, %g) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<5x2xf32>, tensor<3x2x2xf32>, tensor<3xi32>) -> tensor<5x2xf32>
    check.expect_eq_const %0, dense<[[21.0, 16.0], [5.0, 4.0], [13.0, 16.0], [29.0, 36.0], [0.0, 0.0]]> : tensor<5x2xf32>
    %l2 = stablehlo.constant dense<[[-3.0, -2.0, -1.0, 0.0], [1.0, 2.0, 3.0, 4.0]]> : tensor<2x4xf32>
    %r2 = stablehlo.constant dense<[[-5.0, -4.0, -3.0], [-2.0, -1.0, 0.0], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<4x3xf32>
    %g2 = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
    %1 = "chlo.ragged_dot"(%l2, %r2, %g2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>}> : (tensor<2x4xf32>, tensor<4x3xf32>, tensor<2xi32>) -> tensor<2x2x3xf32>
    check.expect_eq_const %1, dense<[[[15.0, 12.0, 9.0], [-5.0, -4.0, -3.0]], [[3.0, 0.0, -3.0], [15.0, 24.0, 33.0]]]> : tensor<2x2x3xf32>)");
}

TEST(ExpandIndexing, TorchIndexSelect) {
  expect_checks_hold(R"(
    %x = stablehlo.constant dense<[[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]]> : tensor<2x3x2xi32>
    %i = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
    %0 = "stablehlo.torch_index_select"(%x, %i) <{batch_dims = 0 : i64, dim = 1 : i64}> : (tensor<2x3x2xi32>, tensor<2xi32>) -> tensor<2x2x2xi32>
    check.expect_eq_const %0, dense<[[[5, 6], [1, 2]], [[11, 12], [7, 8]]]> : tensor<2x2x2xi32>
    %j = stablehlo.constant dense<[[2, 1, 1], [0, 0, 2]]> : tensor<2x3xi32>
    %1 = "stablehlo.torch_index_select"(%x, %j) <{batch_dims = 1 : i64, dim = 1 : i64}> : (tensor<2x3x2xi32>, tensor<2x3xi32>) -> tensor<2x3x2xi32>
    check.expect_eq_const %1, dense<[[[5, 6], [3, 4], [3, 4]], [[7, 8], [7, 8], [11, 12]]]> : tensor<2x3x2xi32>
    %s = stablehlo.constant dense<1> : tensor<i32>
    %2 = "stablehlo.torch_index_select"(%x, %s) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<2x3x2xi32>, tensor<i32>) -> tensor<3x2xi32>
    check.expect_eq_const %2, dense<[[7, 8], [9, 10], [11, 12]]> : tensor<3x2xi32>)");
}

// Batches, rows and indices of nothing: the result has their shape and no elements.
TEST(ExpandIndexing, TorchIndexSelectOfNothing) {
  expect_checks_hold(R"(
    %x = stablehlo.constant dense<> : tensor<0x3x2xi32>
    %i = stablehlo.constant dense<> : tensor<0x4xi32>
    %0 = "stablehlo.torch_index_select"(%x, %i) <{batch_dims = 1 : i64, dim = 1 : i64}> : (tensor<0x3x2xi32>, tensor<0x4xi32>) -> tensor<0x4x2xi32>
    check.expect_eq_const %0, dense<> : tensor<0x4x2xi32>
    %j = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
    %1 = "stablehlo.torch_index_select"(%x, %j) <{batch_dims = 0 : i64, dim = 1 : i64}> : (tensor<0x3x2xi32>, tensor<2xi32>) -> tensor<0x2x2xi32>
    check.expect_eq_const %1, dense<> : tensor<0x2x2xi32>
    %2 = "stablehlo.torch_index_select"(%x, %i) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<0x3x2xi32>, tensor<0x4xi32>) -> tensor<0x4x3x2xi32>
    check.expect_eq_const %2, dense<> : tensor<0x4x3x2xi32>
    %y = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %k = stablehlo.constant dense<> : tensor<2x0xi32>
    %3 = "stablehlo.torch_index_select"(%y, %k) <{batch_dims = 1 : i64, dim = 1 : i64}> : (tensor<2x3xi32>, tensor<2x0xi32>) -> tensor<2x0xi32>
    check.expect_eq_const %3, dense<> : tensor<2x0xi32>)");
}

TEST(ExpandIndexing, TorchIndexSelectFindsNothingInAnEmptyDimension) {
  const std::string message = error_of([] {
    parse(
        "module @m { func.func @main(%x: tensor<0x2xf32>, %i: tensor<3xi32>) -> tensor<3x2xf32> "
        "{\n    %0 = \"stablehlo.torch_index_select\"(%x, %i) <{batch_dims = 0 : i64, dim = 0 : "
        "i64}> : (tensor<0x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>\n    return %0 : "
        "tensor<3x2xf32> } }");
  });
  EXPECT_NE(message.find("stablehlo.torch_index_select: dimension 0 of its operand is empty, its "
                         "indices are not"),
            std::string::npos)
      << message;
}

TEST(ExpandMap, ComputesOnWholeTensors) {
  // The specification's example, and a region with a constant and a captured scalar.
  expect_checks_hold(R"(
    %a = stablehlo.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
    %b = stablehlo.constant dense<[[4, 5], [6, 7]]> : tensor<2x2xi64>
    %ten = stablehlo.constant dense<10> : tensor<i64>
    %0 = "stablehlo.map"(%a, %b) ({
    ^bb0(%p: tensor<i64>, %q: tensor<i64>):
      %m = stablehlo.multiply %p, %q : tensor<i64>
      stablehlo.return %m : tensor<i64>
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi64>
    check.expect_eq_const %0, dense<[[0, 5], [12, 21]]> : tensor<2x2xi64>
    %1 = "stablehlo.map"(%a) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%p: tensor<i64>):
      %c = stablehlo.constant dense<1> : tensor<i64>
      %m = stablehlo.add %p, %c : tensor<i64>
      %n = stablehlo.multiply %m, %ten : tensor<i64>
      stablehlo.return %n : tensor<i64>
    }) : (tensor<2x2xi64>) -> tensor<2x2xi64>
    check.expect_eq_const %1, dense<[[10, 20], [30, 40]]> : tensor<2x2xi64>)");
}

}  // namespace
}  // namespace spmd::testing
