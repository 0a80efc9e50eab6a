// Ops whose sizes are operands, with sizes that follow from constants.
#include "tests/ir/self_check.h"

namespace spmd::testing {
namespace {

TEST(ExpandDynamic, SpecificationExamples) {
  expect_checks_hold(R"(
    %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
    %shape = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
    %0 = stablehlo.dynamic_reshape %x, %shape : (tensor<2x3xi64>, tensor<2xi64>) -> tensor<?x?xi64>
    %0s = stablehlo.dynamic_reshape %x, %shape : (tensor<2x3xi64>, tensor<2xi64>) -> tensor<3x2xi64>
    check.expect_eq_const %0s, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>
    %twice = stablehlo.add %0, %0 : tensor<?x?xi64>
    %flat = stablehlo.constant dense<6> : tensor<1xi64>
    %1 = stablehlo.dynamic_reshape %twice, %flat : (tensor<?x?xi64>, tensor<1xi64>) -> tensor<6xi64>
    check.expect_eq_const %1, dense<[2, 4, 6, 8, 10, 12]> : tensor<6xi64>
    %row = stablehlo.constant dense<[[1, 2, 3]]> : tensor<1x3xi64>
    %out = stablehlo.constant dense<[2, 3, 2]> : tensor<3xi64>
    %2 = stablehlo.dynamic_broadcast_in_dim %row, %out, dims = [2, 1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<1x3xi64>, tensor<3xi64>) -> tensor<2x3x2xi64>
    check.expect_eq_const %2, dense<[[[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 2], [3, 3]]]> : tensor<2x3x2xi64>
    %45 = stablehlo.constant dense<[4, 5]> : tensor<2xi64>
    %3 = stablehlo.dynamic_iota %45, dim = 0 : (tensor<2xi64>) -> tensor<4x5xi64>
    check.expect_eq_const %3, dense<[[0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [2, 2, 2, 2, 2], [3, 3, 3, 3, 3]]> : tensor<4x5xi64>
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %low = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
    %high = stablehlo.constant dense<[2, 1]> : tensor<2xi64>
    %interior = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %4 = stablehlo.dynamic_pad %x, %zero, %low, %high, %interior : (tensor<2x3xi64>, tensor<i64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<5x9xi64>
    check.expect_eq_const %4, dense<[[0, 1, 0, 0, 2, 0, 0, 3, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 4, 0, 0, 5, 0, 0, 6, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0]]> : tensor<5x9xi64>
    %5 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xi64>) -> tensor<i32>
    check.expect_eq_const %5, dense<3> : tensor<i32>
    %6 = stablehlo.set_dimension_size %x, %5, dim = 1 : (tensor<2x3xi64>, tensor<i32>) -> tensor<2x?xi64>
    %6b = stablehlo.negate %6 : tensor<2x?xi64>
    %7 = stablehlo.set_dimension_size %6b, %5, dim = 1 : (tensor<2x?xi64>, tensor<i32>) -> tensor<2x3xi64>
    check.expect_eq_const %7, dense<[[-1, -2, -3], [-4, -5, -6]]> : tensor<2x3xi64>)");
}

TEST(ExpandDynamic, SlicesGathersAndConvolutions) {
  expect_checks_hold(R"(
    %x = stablehlo.constant dense<[[0, 0, 1, 0, 0, 1], [0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 1]]> : tensor<3x6xi64>
    %start = stablehlo.constant dense<[0, 2]> : tensor<2xi64>
    %limit = stablehlo.constant dense<[3, 6]> : tensor<2xi64>
    %stride = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
    %0 = stablehlo.real_dynamic_slice %x, %start, %limit, %stride : (tensor<3x6xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xi64>
    %n = stablehlo.get_dimension_size %0, dim = 1 : (tensor<?x?xi64>) -> tensor<i32>
    check.expect_eq_const %n, dense<2> : tensor<i32>
    %1 = stablehlo.real_dynamic_slice %x, %start, %limit, %stride : (tensor<3x6xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xi64>
    check.expect_eq_const %1, dense<1> : tensor<2x2xi64>
    %operand = stablehlo.constant dense<[[[1, 2], [3, 4], [5, 6], [7, 8]], [[9, 10], [11, 12], [13, 14], [15, 16]], [[17, 18], [19, 20], [21, 22], [23, 24]]]> : tensor<3x4x2xi64>
    %indices = stablehlo.constant dense<[[[0, 0], [1, 0], [2, 1]], [[0, 1], [1, 1], [0, 9]]]> : tensor<2x3x2xi64>
    %sizes = stablehlo.constant dense<[1, 2, 2]> : tensor<3xi64>
    %2 = "stablehlo.dynamic_gather"(%operand, %indices, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], start_index_map = [1, 0], index_vector_dim = 2>, indices_are_sorted = false}> : (tensor<3x4x2xi64>, tensor<2x3x2xi64>, tensor<3xi64>) -> tensor<2x3x2x2xi64>
    check.expect_eq_const %2, dense<[[[[1, 2], [3, 4]], [[3, 4], [5, 6]], [[13, 14], [15, 16]]], [[[9, 10], [11, 12]], [[11, 12], [13, 14]], [[17, 18], [19, 20]]]]> : tensor<2x3x2x2xi64>
    %lhs = stablehlo.constant dense<[[[[1], [2], [5], [6]], [[3], [4], [7], [8]], [[10], [11], [14], [15]], [[12], [13], [16], [17]]]]> : tensor<1x4x4x1xi64>
    %rhs = stablehlo.constant dense<1> : tensor<3x3x1x1xi64>
    %padding = stablehlo.constant dense<1> : tensor<2x2xi64>
    %3 = "stablehlo.dynamic_conv"(%lhs, %rhs, %padding) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 2, 2>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 4, 4>}> : (tensor<1x4x4x1xi64>, tensor<3x3x1x1xi64>, tensor<2x2xi64>) -> tensor<1x2x2x1xi64>
    check.expect_eq_const %3, dense<[[[[1], [5]], [[10], [14]]]]> : tensor<1x2x2x1xi64>)");
}

TEST(ExpandDynamic, SizesAreComputed) {
  // As exporters write reshapes: sizes that are products and slices of sizes.
  expect_checks_hold(R"(
    %x = stablehlo.constant dense<1.0> : tensor<2x3x4xf32>
    %a = stablehlo.get_dimension_size %x, dim = 0 : (tensor<2x3x4xf32>) -> tensor<i32>
    %b = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3x4xf32>) -> tensor<i32>
    %ab = stablehlo.multiply %a, %b : tensor<i32>
    %c = stablehlo.get_dimension_size %x, dim = 2 : (tensor<2x3x4xf32>) -> tensor<i32>
    %0 = stablehlo.reshape %ab : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.reshape %c : (tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %3 = stablehlo.dynamic_reshape %x, %2 : (tensor<2x3x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    %4 = stablehlo.exponential %3 : tensor<?x?xf32>
    %5 = call @twice(%4) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %6 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x?xf32>, tensor<f32>) -> tensor<f32>
    check.expect_eq_const %6, dense<24.0> : tensor<f32>
    %n = stablehlo.constant dense<1> : tensor<i32>
    %7:2 = stablehlo.while(%i = %n, %v = %3) : tensor<i32>, tensor<?x?xf32>
     cond {
      %p = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %n : tensor<i32>
      %w = stablehlo.add %v, %v : tensor<?x?xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<?x?xf32>
    }
    %8 = stablehlo.reduce(%7#1 init: %z) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<?x?xf32>, tensor<f32>) -> tensor<f32>
    check.expect_eq_const %8, dense<8.0> : tensor<f32>)",
                     R"(
  func.func private @twice(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
    %0 = stablehlo.add %x, %x : tensor<6x4xf32>
    return %0 : tensor<6x4xf32>
  })");
}

TEST(ExpandDynamic, VaryingStartsOfKnownSize) {
  const Module module = parse(R"(
func.func @main(%x: tensor<5x4xf32>, %s: tensor<2xi32>) -> tensor<2x3xf32> {
  %l = stablehlo.constant dense<[5, 4]> : tensor<2xi32>
  %one = stablehlo.constant dense<1> : tensor<2xi32>
  %0 = stablehlo.real_dynamic_slice %x, %s, %l, %one : (tensor<5x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
})");
  std::vector<float> values(20);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const std::vector<Literal> arguments = {
      Literal::of<float>({DType::kF32, {5, 4}}, values),
      Literal::of<int32_t>({DType::kS32, {2}}, std::vector<int32_t>{2, 1})};
  const Literal result = evaluate(module, arguments)[0];
  EXPECT_EQ(result,
            Literal::of<float>({DType::kF32, {2, 3}}, std::vector<float>{9, 10, 11, 13, 14, 15}));
}

TEST(ExpandDynamic, SizesThatAreNotKnown) {
  EXPECT_EQ(error_of([] {
              parse(R"(func.func @main(%x: tensor<6xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {
  %0 = stablehlo.dynamic_reshape %x, %s : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
})");
            }),
            "test.mlir:2: stablehlo.dynamic_reshape: the shape of the result (operand 1) cannot be "
            "known before running\n  sizes must follow from constants: export the program for "
            "fixed shapes");
  EXPECT_EQ(error_of([] {
              parse(R"(func.func @main(%x: tensor<6xf32>) -> tensor<?xf32> {
  %n = stablehlo.constant dense<4> : tensor<i32>
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<6xf32>, tensor<i32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
})");
            }),
            "test.mlir:3: stablehlo.set_dimension_size: gives a dimension of size 6 fewer "
            "elements\n  bounded dynamic sizes are not supported: mask the elements, or slice");
}

}  // namespace
}  // namespace spmd::testing
