// Stacks of a scan that its backward pass need not read.
#include "passes/recompute_residuals.h"

#include "passes/dce.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

// Three iterations that keep x (8 numbers) and exp(x x^T) (64 numbers), and a second loop that adds
// up the latter's slices, from the last to the first.
std::string scan(const std::string& kept) {
  return R"(
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %xs = stablehlo.constant dense<0.0> : tensor<3x8xf32>
    %es = stablehlo.constant dense<0.0> : tensor<3x8x8xf32>
    %sum = stablehlo.constant dense<0.0> : tensor<8x8xf32>
    %f:4 = stablehlo.while(%i = %zero, %x = %x0, %sx = %xs, %se = %es) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8x8xf32>
     cond {
      %c = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %n = stablehlo.add %i, %one : tensor<i32>
      %p = stablehlo.dot_general %x, %x, contracting_dims = [] x [] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
      %e = stablehlo.exponential %p : tensor<8x8xf32>
      %y = stablehlo.negate %x : tensor<8xf32>
      %xr = stablehlo.reshape )" +
         kept + R"( : (tensor<8xf32>) -> tensor<1x8xf32>
      %sx1 = stablehlo.dynamic_update_slice %sx, %xr, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
      %er = stablehlo.reshape %e : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
      %se1 = stablehlo.dynamic_update_slice %se, %er, %i, %zero, %zero : (tensor<3x8x8xf32>, tensor<1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x8xf32>
      stablehlo.return %n, %y, %sx1, %se1 : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8x8xf32>
    }
    %b:2 = stablehlo.while(%k = %zero, %s = %sum) : tensor<i32>, tensor<8x8xf32>
     cond {
      %c = stablehlo.compare LT, %k, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %n = stablehlo.add %k, %one : tensor<i32>
      %j = stablehlo.subtract %two, %k : tensor<i32>
      %es1 = stablehlo.dynamic_slice %f#3, %j, %zero, %zero, sizes = [1, 8, 8] : (tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
      %e = stablehlo.reshape %es1 : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
      %sc = stablehlo.convert %k : (tensor<i32>) -> tensor<f32>
      %sb = stablehlo.broadcast_in_dim %sc, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
      %w = stablehlo.multiply %e, %sb : tensor<8x8xf32>
      %t = stablehlo.add %s, %w : tensor<8x8xf32>
      stablehlo.return %n, %t : tensor<i32>, tensor<8x8xf32>
    }
    return %b#1, %f#2 : tensor<8x8xf32>, tensor<3x8xf32>)";
}

// The small stack is a result besides.
TEST(RecomputeResiduals, TheSecondLoopComputesItAgain) {
  const Module before = program({"tensor<8xf32>"}, scan("%x"));
  Module after = before.clone();
  EXPECT_TRUE(apply(recompute_residuals_pass(), after));
  apply(dce_pass(), after);
  // One exponential is left, in the second loop, and one stack.
  EXPECT_EQ(count_ops(after, OpCode::kExponential), 1);
  EXPECT_EQ(count_ops(after, OpCode::kDynamicUpdateSlice), 1);
  expect_same_values(before, after);
}

// A third stack, of what the loop does not change, beside the others.
TEST(RecomputeResiduals, WhatTheLoopDoesNotChange) {
  std::string text = scan("%x");
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("%f:4 =", "%f:5 =");
  replace("%se = %es) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8x8xf32>",
          "%se = %es, %sv = %es) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, "
          "tensor<3x8x8xf32>, tensor<3x8x8xf32>");
  replace("stablehlo.return %n, %y, %sx1, %se1 : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, ",
          "%vr = stablehlo.reshape %twos : (tensor<8x8xf32>) -> tensor<1x8x8xf32>\n%sv1 = "
          "stablehlo.dynamic_update_slice %sv, %vr, %i, %zero, %zero : (tensor<3x8x8xf32>, "
          "tensor<1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x8xf32>\n"
          "stablehlo.return %n, %y, %sx1, %se1, %sv1 : tensor<i32>, tensor<8xf32>, "
          "tensor<3x8xf32>, tensor<3x8x8xf32>, ");
  replace("%xs = ", "%twos = stablehlo.constant dense<2.0> : tensor<8x8xf32>\n%xs = ");
  replace("%t = stablehlo.add %s, %w : tensor<8x8xf32>",
          "%vs1 = stablehlo.dynamic_slice %f#4, %j, %zero, %zero, sizes = [1, 8, 8] : "
          "(tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>\n%v = "
          "stablehlo.reshape %vs1 : (tensor<1x8x8xf32>) -> tensor<8x8xf32>\n%sv2 = stablehlo.add "
          "%s, %v : tensor<8x8xf32>\n%t = stablehlo.add %sv2, %w : tensor<8x8xf32>");
  const Module before = program({"tensor<8xf32>"}, text);
  Module after = before.clone();
  EXPECT_TRUE(apply(recompute_residuals_pass(), after));
  apply(dce_pass(), after);
  EXPECT_EQ(count_ops(after, OpCode::kDynamicUpdateSlice), 1);
  expect_same_values(before, after);
}

// Of -x, which is kept, x is not known.
TEST(RecomputeResiduals, NotFromWhatIsNotKept) {
  Module module = program({"tensor<8xf32>"}, scan("%y"));
  EXPECT_FALSE(apply(recompute_residuals_pass(), module));
}

// It has to stay for the result.
TEST(RecomputeResiduals, NotWhenTheLargeStackIsAResult) {
  std::string text = scan("%x");
  const std::string result = "%f#2 : tensor<8x8xf32>, tensor<3x8xf32>";
  text.replace(text.find(result), result.size(), "%f#3 : tensor<8x8xf32>, tensor<3x8x8xf32>");
  Module module = program({"tensor<8xf32>"}, text);
  EXPECT_FALSE(apply(recompute_residuals_pass(), module));
}

}  // namespace
}  // namespace spmd::testing
