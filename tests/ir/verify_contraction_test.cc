// dot_general, convolution and rng_bit_generator.
#include "tests/ir/verify_testing.h"

namespace spmd::testing {
namespace {

const VerifierRow kDots[] = {
    {"%a: tensor<2x3xbf16>, %b: tensor<3x4xf32>",
     "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xbf16>, "
     "tensor<3x4xf32>) -> tensor<2x4xf32>",
     ""},
    {"%a: tensor<2x3xi8>, %b: tensor<3x4xui8>",
     "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xi8>, "
     "tensor<3x4xui8>) -> tensor<2x4xi32>",
     ""},
    {"%a: tensor<2x3xf32>, %b: tensor<4x4xf32>",
     "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, "
     "tensor<4x4xf32>) -> tensor<2x4xf32>",
     "stablehlo.dot_general: dot dimension 1 of tensor<2x3xf32> and 0 of tensor<4x4xf32> differ in "
     "size"},
    {"%a: tensor<2x3xf32>, %b: tensor<3x4xf32>",
     "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, "
     "tensor<3x4xf32>) -> tensor<4x2xf32>",
     "stablehlo.dot_general: result 0 has type tensor<4x2xf32>, expected tensor<2x4xf32>"},
    {"%a: tensor<2x3xf32>, %b: tensor<3x4xf32>",
     "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1, 1] x [0, 0] : (tensor<2x3xf32>, "
     "tensor<3x4xf32>) -> tensor<2x4xf32>",
     "stablehlo.dot_general: dot dimension 1 occurs twice"},
    {"%a: tensor<2x3xf32>, %b: tensor<3x4xf32>",
     "%0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : (tensor<2x3xf32>, "
     "tensor<3x4xf32>) -> tensor<2x4xf32>",
     "stablehlo.dot_general: dot dimension 2 is out of range for rank 2"},
    {"%a: tensor<2x3xf32>, %b: tensor<3x4xf32>",
     "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [] : (tensor<2x3xf32>, "
     "tensor<3x4xf32>) -> tensor<2x4xf32>",
     "stablehlo.dot_general: batching or contracting dimensions differ in number"},
    {"%a: tensor<2x3xf32>, %b: tensor<3x4xi32>",
     "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, "
     "tensor<3x4xi32>) -> tensor<2x4xf32>",
     "stablehlo.dot_general: f32 and i32 give f32, expected one kind of number"},
    {"%a: tensor<2x3xf32>, %b: tensor<3x4xf32>",
     "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, "
     "tensor<3x4xf32>) -> tensor<2x4xi32>",
     "stablehlo.dot_general: f32 and f32 give i32, expected one kind of number"},
    {"%a: tensor<2x3xf32>, %b: tensor<3x4xf32>",
     "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGH] : "
     "(tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>",
     "stablehlo.dot_general: has 1 precisions, expected one per operand"},
};

TEST(VerifyContraction, Rows) { check_rows(kDots); }

std::string with_algorithm(const std::string& element, const std::string& accumulation,
                           int components, int operations) {
  const std::string type = "tensor<3x" + element + ">";
  return main_text(
      "(%a: " + type + ")",
      fmt::format(
          "    %0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0], algorithm = "
          "<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = {}, "
          "lhs_component_count = {}, rhs_component_count = 1, num_primitive_operations = {}, "
          "allow_imprecise_accumulation = false> : ({}, {}) -> tensor<{}>\n    return",
          accumulation, components, operations, type, type, element));
}

TEST(VerifyContraction, Algorithms) {
  EXPECT_EQ(rejection(with_algorithm("f32", "f32", 3, 9)), "");
  EXPECT_EQ(rejection(with_algorithm("i32", "f32", 1, 1)),
            "stablehlo.dot_general: has an algorithm for tensor<3xi32>, expected floats");
  EXPECT_EQ(rejection(with_algorithm("f32", "f32", 0, 1)),
            "stablehlo.dot_general: the algorithm has 0 components, expected 1 to 3");
  EXPECT_EQ(rejection(with_algorithm("f32", "f32", 1000000, 1)),
            "stablehlo.dot_general: the algorithm has 1000000 components, expected 1 to 3");
  EXPECT_EQ(rejection(with_algorithm("f32", "f32", 1, 0)),
            "stablehlo.dot_general: the algorithm has 0 primitive operations, expected 1 to 9");
}

std::string convolution(const std::string& kernel, const std::string& window,
                        const std::string& groups, const std::string& result,
                        const std::string& numbers = "[b, 0, f]x[0, i, o]->[b, 0, f]") {
  const std::string types = "(tensor<2x8x4xf32>, " + kernel + ") -> " + result;
  return main_text("(%x: tensor<2x8x4xf32>, %w: " + kernel + ")",
                   "    %0 = stablehlo.convolution(%x, %w) dim_numbers = " + numbers +
                       ", window = {" + window + "} {" + groups + "} : " + types + "\n    return");
}

TEST(VerifyConvolution, Rows) {
  const std::string kernel = "tensor<3x4x6xf32>", result = "tensor<2x6x6xf32>";
  const std::string groups = "batch_group_count = 1 : i64, feature_group_count = 1 : i64";
  EXPECT_EQ(rejection(convolution(kernel, "", groups, result)), "");
  EXPECT_EQ(rejection(convolution(kernel, "", groups, "tensor<2x8x6xf32>")),
            "stablehlo.convolution: result 0 has type tensor<2x8x6xf32>, expected "
            "tensor<2x6x6xf32>");
  EXPECT_EQ(rejection(convolution(kernel, "stride = [0]", groups, result)),
            "stablehlo.convolution: window sizes, strides and dilations must be positive");
  EXPECT_EQ(rejection(convolution(kernel, "stride = [1, 1]", groups, result)),
            "stablehlo.convolution: convolution needs one window entry per spatial dimension");
  EXPECT_EQ(rejection(convolution("tensor<3x5x6xf32>", "", groups, result)),
            "stablehlo.convolution: feature or batch groups do not divide tensor<2x8x4xf32> by "
            "tensor<3x5x6xf32>");
  EXPECT_EQ(rejection(convolution(kernel, "", "batch_group_count = 0 : i64", result)),
            "stablehlo.convolution: feature or batch groups do not divide tensor<2x8x4xf32> by "
            "tensor<3x4x6xf32>");
  EXPECT_EQ(rejection(convolution("tensor<3x2x6xf32>", "",
                                  "batch_group_count = 2 : i64, feature_group_count = 2 : i64",
                                  "tensor<1x6x6xf32>")),
            "stablehlo.convolution: has 2 feature groups and 2 batch groups, expected one of them "
            "to be 1");
  EXPECT_EQ(rejection(convolution("tensor<3x4x6xi32>", "", groups, result)),
            "stablehlo.convolution: f32 and i32 give f32, expected one kind of number");
  EXPECT_EQ(rejection(convolution("tensor<3x4xf32>", "", groups, result)),
            "stablehlo.convolution: convolution ranks do not match its dimension numbers");
}

const VerifierRow kRandom[] = {
    {"%s: tensor<3xui64>",
     "%0:2 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> "
     "(tensor<3xui64>, tensor<8xui32>)",
     ""},
    {"%s: tensor<3xui64>",
     "%0:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<3xui64>) -> "
     "(tensor<3xui64>, tensor<8xui32>)",
     "stablehlo.rng_bit_generator: the state is tensor<3xui64>, expected tensor<2xui64>"},
    {"%s: tensor<4xui32>",
     "%0:2 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<4xui32>) -> "
     "(tensor<4xui32>, tensor<8xui32>)",
     "stablehlo.rng_bit_generator: the state is tensor<4xui32>, expected tensor<2xui64> or "
     "tensor<3xui64>"},
    {"%s: tensor<2xui64>",
     "%0:2 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> "
     "(tensor<3xui64>, tensor<8xui32>)",
     "stablehlo.rng_bit_generator: the new state is tensor<3xui64>, expected tensor<2xui64>"},
    {"%s: tensor<2xui64>",
     "%0:2 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> "
     "(tensor<2xui64>, tensor<8xi1>)",
     "stablehlo.rng_bit_generator: random bits are tensor<8xi1>, expected integers or floats"},
    {"%s: tensor<2xui64>",
     "%0 = \"stablehlo.rng_bit_generator\"(%s) <{rng_algorithm = #stablehlo<rng_algorithm "
     "DEFAULT>}> : (tensor<2xui64>) -> tensor<2xui64>",
     "stablehlo.rng_bit_generator: has 1 operands and 1 results, expected 1 and 2"},
};

TEST(VerifyRandom, Rows) { check_rows(kRandom); }

}  // namespace
}  // namespace spmd::testing
