// Elementwise ops of CHLO that become several, and implicit broadcasting.
#include "tests/ir/self_check.h"

namespace spmd::testing {
namespace {

TEST(ExpandElementwise, Infinities) {
  expect_checks_hold(R"(
    %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0.0, 3.0e38]> : tensor<5xf32>
    %0 = chlo.is_inf %x : tensor<5xf32> -> tensor<5xi1>
    check.expect_eq_const %0, dense<[true, true, false, false, false]> : tensor<5xi1>
    %1 = chlo.is_pos_inf %x : tensor<5xf32> -> tensor<5xi1>
    check.expect_eq_const %1, dense<[true, false, false, false, false]> : tensor<5xi1>
    %2 = "chlo.is_neg_inf"(%x) : (tensor<5xf32>) -> tensor<5xi1>
    check.expect_eq_const %2, dense<[false, true, false, false, false]> : tensor<5xi1>)");
}

TEST(ExpandElementwise, ConjAndConstantLike) {
  expect_checks_hold(R"(
    %x = stablehlo.constant dense<[(1.0, 2.0), (-3.0, -0.5)]> : tensor<2xcomplex<f32>>
    %0 = chlo.conj %x : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
    check.expect_eq_const %0, dense<[(1.0, -2.0), (-3.0, 0.5)]> : tensor<2xcomplex<f32>>
    %r = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
    %1 = chlo.conj %r : tensor<2xf32> -> tensor<2xf32>
    check.expect_eq %1, %r : tensor<2xf32>
    %2 = "chlo.constant_like"(%r) <{value = 3.5 : f32}> : (tensor<2xf32>) -> tensor<2xf32>
    check.expect_eq_const %2, dense<3.5> : tensor<2xf32>
    %i = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi8>
    %3 = "chlo.constant_like"(%i) <{value = -7 : i8}> : (tensor<1x2xi8>) -> tensor<1x2xi8>
    check.expect_eq_const %3, dense<-7> : tensor<1x2xi8>)");
}

// The upper halves of products, computed with Python's integers.
TEST(ExpandElementwise, Mulhi) {
  expect_checks_hold(R"(
    %a = stablehlo.constant dense<[2147483647, -2147483648, -1, 123456789]> : tensor<4xi32>
    %b = stablehlo.constant dense<[2147483647, -2147483648, 1, -987654321]> : tensor<4xi32>
    %0 = chlo.mulhi %a, %b : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
    check.expect_eq_const %0, dense<[1073741823, 1073741824, -1, -28389653]> : tensor<4xi32>
    %c = stablehlo.constant dense<[18446744073709551615, 12345678901234567890, 4294967296]> : tensor<3xui64>
    %d = stablehlo.constant dense<[18446744073709551615, 9876543210987654321, 4294967296]> : tensor<3xui64>
    %1 = chlo.mulhi %c, %d : tensor<3xui64>, tensor<3xui64> -> tensor<3xui64>
    check.expect_eq_const %1, dense<[18446744073709551614, 6609981178781634653, 1]> : tensor<3xui64>
    %e = stablehlo.constant dense<[-9223372036854775808, -1, 9223372036854775807, -5000000000]> : tensor<4xi64>
    %f = stablehlo.constant dense<[-9223372036854775808, 1, 9223372036854775807, 7000000000]> : tensor<4xi64>
    %2 = chlo.mulhi %e, %f : tensor<4xi64>, tensor<4xi64> -> tensor<4xi64>
    check.expect_eq_const %2, dense<[4611686018427387904, -1, 4611686018427387903, -2]> : tensor<4xi64>
    %g = stablehlo.constant dense<[-128, 127, -3]> : tensor<3xi8>
    %3 = chlo.mulhi %g, %g : tensor<3xi8>, tensor<3xi8> -> tensor<3xi8>
    check.expect_eq_const %3, dense<[64, 63, 0]> : tensor<3xi8>)");
}

// As C's nextafter; patterns of the neighbours.
TEST(ExpandElementwise, NextAfter) {
  expect_checks_hold(R"(
    %x = stablehlo.constant dense<[1.0, 1.0, 0.0, -0.0, 0x7F7FFFFF, -1.0, 2.0, 0x7FC00000, 0x00000001, 0x7F800000]> : tensor<10xf32>
    %y = stablehlo.constant dense<[2.0, 0.0, -1.0, 1.0, 0x7F800000, 5.0, 2.0, 1.0, 0.0, 0.0]> : tensor<10xf32>
    %0 = chlo.next_after %x, %y : tensor<10xf32>, tensor<10xf32> -> tensor<10xf32>
    check.expect_eq_const %0, dense<[0x3F800001, 0x3F7FFFFF, 0x80000001, 0x00000001, 0x7F800000, 0xBF7FFFFF, 2.0, 0x7FC00000, 0.0, 0x7F7FFFFF]> : tensor<10xf32>
    %h = stablehlo.constant dense<[1.0, 65504.0]> : tensor<2xf16>
    %i = stablehlo.constant dense<[0.0, 0x7C00]> : tensor<2xf16>
    %1 = chlo.next_after %h, %i : tensor<2xf16>, tensor<2xf16> -> tensor<2xf16>
    check.expect_eq_const %1, dense<[0x3BFF, 0x7C00]> : tensor<2xf16>
    %d = stablehlo.constant dense<-1.0> : tensor<f64>
    %z = stablehlo.constant dense<0.0> : tensor<f64>
    %2 = chlo.broadcast_next_after %d, %z : (tensor<f64>, tensor<f64>) -> tensor<f64>
    check.expect_eq_const %2, dense<0xBFEFFFFFFFFFFFFF> : tensor<f64>)");
}

TEST(ExpandBroadcasting, Operands) {
  expect_checks_hold(R"(
    %m = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %v = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
    %c = stablehlo.constant dense<[100, 200]> : tensor<2xi32>
    %s = stablehlo.constant dense<7> : tensor<i32>
    %col = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
    %0 = chlo.broadcast_add %m, %v : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    check.expect_eq_const %0, dense<[[11, 22, 33], [14, 25, 36]]> : tensor<2x3xi32>
    %1 = chlo.broadcast_subtract %c, %m {broadcast_dimensions = array<i64: 0>} : (tensor<2xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
    check.expect_eq_const %1, dense<[[99, 98, 97], [196, 195, 194]]> : tensor<2x3xi32>
    %2 = "chlo.broadcast_multiply"(%col, %v) : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    check.expect_eq_const %2, dense<[[10, 20, 30], [20, 40, 60]]> : tensor<2x3xi32>
    %3 = chlo.broadcast_maximum %s, %v : (tensor<i32>, tensor<3xi32>) -> tensor<3xi32>
    check.expect_eq_const %3, dense<[10, 20, 30]> : tensor<3xi32>
    %4 = chlo.broadcast_compare %m, %s {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi1>
    check.expect_eq_const %4, dense<true> : tensor<2x3xi1>
    %5 = chlo.broadcast_select %4, %m, %s : (tensor<2x3xi1>, tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi32>
    check.expect_eq %5, %m : tensor<2x3xi32>
    %6 = stablehlo.broadcast %v, sizes = [2, 1] : (tensor<3xi32>) -> tensor<2x1x3xi32>
    check.expect_eq_const %6, dense<[[[10, 20, 30]], [[10, 20, 30]]]> : tensor<2x1x3xi32>
    %f = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %i = stablehlo.constant dense<3.0> : tensor<f32>
    %7 = chlo.broadcast_complex %f, %i : (tensor<2xf32>, tensor<f32>) -> tensor<2xcomplex<f32>>
    check.expect_eq_const %7, dense<[(1.0, 3.0), (2.0, 3.0)]> : tensor<2xcomplex<f32>>)");
}

TEST(ExpandBroadcasting, ShapesThatDoNotFit) {
  EXPECT_EQ(error_of([] {
              parse(R"(func.func @main(%x: tensor<2x3xf32>, %y: tensor<2xf32>) -> tensor<2x3xf32> {
  %0 = chlo.broadcast_add %x, %y : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
})");
            }),
            "test.mlir:2: chlo.broadcast_add: tensor<2xf32> cannot be broadcast with the other "
            "operand: size 2 meets 3");
}

}  // namespace
}  // namespace spmd::testing
