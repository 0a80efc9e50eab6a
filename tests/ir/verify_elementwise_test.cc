#include "tests/ir/verify_testing.h"

namespace spmd::testing {
namespace {

// What one operand of the wrong element type gets, op by op.
TEST(VerifyElementwise, ElementTypesOfUnaryOps) {
  struct Row {
    const char* op;
    const char* element;
    const char* expected;
  };
  static constexpr Row kRows[] = {
      {"stablehlo.abs", "ui8", "signed integers, floats or complex numbers"},
      {"stablehlo.abs", "i1", "signed integers, floats or complex numbers"},
      {"stablehlo.cbrt", "i32", "floats or complex numbers"},
      {"stablehlo.ceil", "complex<f32>", "floats"},
      {"stablehlo.cosine", "i32", "floats or complex numbers"},
      {"stablehlo.count_leading_zeros", "f32", "integers"},
      {"stablehlo.exponential", "i32", "floats or complex numbers"},
      {"stablehlo.exponential_minus_one", "i32", "floats or complex numbers"},
      {"stablehlo.floor", "i32", "floats"},
      {"stablehlo.log", "ui32", "floats or complex numbers"},
      {"stablehlo.log_plus_one", "i32", "floats or complex numbers"},
      {"stablehlo.logistic", "i1", "floats or complex numbers"},
      {"stablehlo.negate", "i1", "integers, floats or complex numbers"},
      {"stablehlo.not", "f32", "booleans or integers"},
      {"stablehlo.popcnt", "f32", "integers"},
      {"stablehlo.popcnt", "i1", "integers"},
      {"stablehlo.round_nearest_afz", "i32", "floats"},
      {"stablehlo.round_nearest_even", "complex<f64>", "floats"},
      {"stablehlo.rsqrt", "i64", "floats or complex numbers"},
      {"stablehlo.sign", "ui32", "signed integers, floats or complex numbers"},
      {"stablehlo.sine", "i32", "floats or complex numbers"},
      {"stablehlo.sqrt", "i32", "floats or complex numbers"},
      {"stablehlo.tan", "i32", "floats or complex numbers"},
      {"stablehlo.tanh", "i8", "floats or complex numbers"},
      {"chlo.erf", "i32", "floats"},
      {"chlo.erf", "complex<f32>", "floats"},
      {"chlo.square", "i1", "integers, floats or complex numbers"},
  };
  for (const Row& row : kRows) {
    const std::string type = fmt::format("tensor<4x{}>", row.element);
    const std::string text =
        main_text("(%a: " + type + ")",
                  fmt::format("    %0 = \"{}\"(%a) : ({}) -> {}\n    return", row.op, type, type));
    EXPECT_EQ(rejection(text),
              fmt::format("{}: operand 0 is {}, expected {}", row.op, type, row.expected));
  }
}

TEST(VerifyElementwise, ElementTypesOfBinaryOps) {
  struct Row {
    const char* op;
    const char* element;
    const char* expected;
  };
  static constexpr Row kRows[] = {
      {"and", "f32", "booleans or integers"},
      {"atan2", "i32", "floats or complex numbers"},
      {"divide", "i1", "integers, floats or complex numbers"},
      {"or", "bf16", "booleans or integers"},
      {"power", "i1", "integers, floats or complex numbers"},
      {"remainder", "complex<f32>", "integers or floats"},
      {"shift_left", "f32", "integers"},
      {"shift_right_arithmetic", "i1", "integers"},
      {"shift_right_logical", "f64", "integers"},
      {"subtract", "i1", "integers, floats or complex numbers"},
      {"xor", "complex<f64>", "booleans or integers"},
  };
  for (const Row& row : kRows) {
    const std::string type = fmt::format("tensor<4x{}>", row.element);
    const std::string text =
        main_text("(%a: " + type + ")",
                  fmt::format("    %0 = stablehlo.{} %a, %a : {}\n    return", row.op, type));
    EXPECT_EQ(rejection(text), fmt::format("stablehlo.{}: operand 0 is {}, expected {}", row.op,
                                           type, row.expected));
  }
}

const VerifierRow kElementwiseRows[] = {
    {"%a: tensor<4xi1>", "%0 = stablehlo.add %a, %a : tensor<4xi1>", ""},
    {"%a: tensor<4xi1>", "%0 = stablehlo.maximum %a, %a : tensor<4xi1>", ""},
    {"%a: tensor<4xui8>", "%0 = stablehlo.negate %a : tensor<4xui8>", ""},
    {"%a: tensor<4xf32>, %b: tensor<3xf32>",
     "%0 = \"stablehlo.add\"(%a, %b) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>",
     "stablehlo.add: operand types tensor<4xf32> and tensor<3xf32> differ"},
    {"%a: tensor<4xf32>", "%0 = \"stablehlo.add\"(%a) : (tensor<4xf32>) -> tensor<4xf32>",
     "stablehlo.add: found 1 operands, expected 2"},
    {"%a: tensor<4xf32>", "%0 = \"stablehlo.negate\"(%a) : (tensor<4xf32>) -> tensor<4xf64>",
     "stablehlo.negate: result 0 has type tensor<4xf64>, expected tensor<4xf32>"},
    {"%a: tensor<4xf32>",
     "%0:2 = \"stablehlo.negate\"(%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)",
     "stablehlo.negate: has 2 results, expected 1"},
    {"%a: tensor<4xcomplex<f32>>",
     "%0 = \"stablehlo.abs\"(%a) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>", ""},
    {"%a: tensor<4xi32>", "%0 = \"stablehlo.is_finite\"(%a) : (tensor<4xi32>) -> tensor<4xi1>",
     "stablehlo.is_finite: operand 0 is tensor<4xi32>, expected floats"},
    // convert
    {"%a: tensor<4xf32>", "%0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi1>", ""},
    {"%a: tensor<4xf32>", "%0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<2x2xf64>",
     "stablehlo.convert: shapes of tensor<4xf32> and tensor<2x2xf64> differ"},
    // select and clamp
    {"%p: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<4xi32>",
     "%0 = \"stablehlo.select\"(%p, %a, %b) : (tensor<4xi1>, tensor<4xf32>, tensor<4xi32>) -> "
     "tensor<4xf32>",
     "stablehlo.select: operand 2 is tensor<4xi32>, expected tensor<4xf32>"},
    {"%p: tensor<4xi8>, %a: tensor<4xf32>",
     "%0 = stablehlo.select %p, %a, %a : tensor<4xi8>, tensor<4xf32>",
     "stablehlo.select: the predicate of select must be i1"},
    {"%p: tensor<2xi1>, %a: tensor<4xf32>",
     "%0 = stablehlo.select %p, %a, %a : tensor<2xi1>, tensor<4xf32>",
     "stablehlo.select: shapes of tensor<2xi1> and tensor<4xf32> differ"},
    {"%l: tensor<i32>, %a: tensor<4xf32>, %h: tensor<f32>",
     "%0 = stablehlo.clamp %l, %a, %h : (tensor<i32>, tensor<4xf32>, tensor<f32>) -> "
     "tensor<4xf32>",
     "stablehlo.clamp: a bound is tensor<i32>, the operand tensor<4xf32>"},
    {"%l: tensor<2xf32>, %a: tensor<4xf32>, %h: tensor<f32>",
     "%0 = stablehlo.clamp %l, %a, %h : (tensor<2xf32>, tensor<4xf32>, tensor<f32>) -> "
     "tensor<4xf32>",
     "stablehlo.clamp: shapes of tensor<2xf32> and tensor<4xf32> differ"},
    // compare
    {"%a: tensor<4xf32>",
     "%0 = stablehlo.compare LT, %a, %a, SIGNED : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
     "stablehlo.compare: a comparison of type SIGNED does not fit f32"},
    {"%a: tensor<4xi32>",
     "%0 = stablehlo.compare LT, %a, %a, TOTALORDER : (tensor<4xi32>, tensor<4xi32>) -> "
     "tensor<4xi1>",
     "stablehlo.compare: a comparison of type TOTALORDER does not fit i32"},
    {"%a: tensor<4xi32>",
     "%0 = stablehlo.compare LT, %a, %a, UNSIGNED : (tensor<4xi32>, tensor<4xi32>) -> "
     "tensor<4xi1>",
     "stablehlo.compare: a comparison of type UNSIGNED does not fit i32"},
    {"%a: tensor<4xi1>",
     "%0 = stablehlo.compare NE, %a, %a, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>",
     ""},
    {"%a: tensor<4xcomplex<f32>>",
     "%0 = stablehlo.compare EQ, %a, %a, FLOAT : (tensor<4xcomplex<f32>>, "
     "tensor<4xcomplex<f32>>) -> tensor<4xi1>",
     ""},
    {"%a: tensor<4xcomplex<f32>>",
     "%0 = stablehlo.compare LT, %a, %a : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> "
     "tensor<4xi1>",
     "stablehlo.compare: complex numbers have no order, expected EQ or NE"},
    {"%a: tensor<4xf32>, %b: tensor<4xf64>",
     "%0 = stablehlo.compare LT, %a, %b : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xi1>",
     "stablehlo.compare: compare of different element types"},
    // reduce_precision
    {"%a: tensor<4xf32>", "%0 = stablehlo.reduce_precision %a, format = e0m7 : tensor<4xf32>",
     "stablehlo.reduce_precision: has 0 exponent bits, expected 1 to 64"},
    {"%a: tensor<4xi32>", "%0 = stablehlo.reduce_precision %a, format = e8m7 : tensor<4xi32>",
     "stablehlo.reduce_precision: operand 0 is tensor<4xi32>, expected floats"},
};

TEST(VerifyElementwise, Rows) { check_rows(kElementwiseRows); }

}  // namespace
}  // namespace spmd::testing
