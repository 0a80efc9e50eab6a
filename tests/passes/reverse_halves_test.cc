#include "passes/reverse_halves.h"

#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

// Rows of 3 x 4 along dimension 1 of 2 x 8 x 3: `upper` and `lower` name what is concatenated.
Module halves(const std::string& first, const std::string& second) {
  return program({"tensor<2x8x3xf32>"}, R"(
    %upper = stablehlo.slice %x0 [0:2, 4:8, 0:3] : (tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
    %lower = stablehlo.slice %x0 [0:2, 0:4, 0:3] : (tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
    %minus_upper = stablehlo.negate %upper : tensor<2x4x3xf32>
    %minus_lower = stablehlo.negate %lower : tensor<2x4x3xf32>
    %0 = stablehlo.concatenate %)" + first + ", %" +
                                            second + R"(, dim = 1 :
        (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x8x3xf32>
    return %0 : tensor<2x8x3xf32>)");
}

TEST(ReverseHalves, WithEitherSign) {
  for (const auto& [first, second] :
       {std::pair{"minus_upper", "lower"}, std::pair{"upper", "minus_lower"},
        std::pair{"upper", "lower"}, std::pair{"minus_upper", "minus_lower"}}) {
    Module module = halves(first, second);
    const Module before = module.clone();
    EXPECT_TRUE(apply(reverse_halves_pass(), module));
    EXPECT_EQ(count_ops(module, OpCode::kConcatenate), 0);
    expect_same_values(before, module);
  }
}

// In their own order, or the same half twice.
TEST(ReverseHalves, OthersStay) {
  expect_unchanged(reverse_halves_pass(), halves("lower", "upper"));
  expect_unchanged(reverse_halves_pass(), halves("upper", "minus_upper"));
}

}  // namespace
}  // namespace spmd::testing
