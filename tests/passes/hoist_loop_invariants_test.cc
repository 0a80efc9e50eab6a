#include "passes/hoist_loop_invariants.h"

#include "tests/passes/loops.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

// Ops of that code directly in main.
int outer_ops(const Module& module, OpCode code) {
  int count = 0;
  const Function& main = module.main();
  for_each_op(main, main.body(), [&](OpId id) { count += main.op(id).code == code; });
  return count;
}

TEST(HoistLoopInvariants, CapturesUnchangedCarriesAndMovesWhatDependsOnThem) {
  Module module = program({"tensor<4xf32>", "tensor<4xf32>"},
                          counted_loop(3, "%a = %x0, %w = %x1", "tensor<4xf32>, tensor<4xf32>",
                                       "%e = stablehlo.exponential %w : tensor<4xf32>\n"
                                       "%n = stablehlo.negate %e : tensor<4xf32>\n"
                                       "%a1 = stablehlo.add %a, %n : tensor<4xf32>",
                                       "%a1, %w", 2) +
                              "return %loop#1, %loop#2 : tensor<4xf32>, tensor<4xf32>");
  const Module before = module.clone();
  EXPECT_TRUE(apply(hoist_loop_invariants_pass(), module));
  EXPECT_EQ(outer_ops(module, OpCode::kExponential), 1);
  EXPECT_EQ(outer_ops(module, OpCode::kNegate), 1);
  EXPECT_EQ(outer_ops(module, OpCode::kAdd), 0);
  expect_same_values(before, module);
  expect_unchanged(hoist_loop_invariants_pass(), std::move(module));
}

TEST(HoistLoopInvariants, LeavesBroadcastsUnlessNeeded) {
  Module module =
      program({"tensor<4x8xf32>", "tensor<8xf32>", "tensor<4x8xf32>"},
              counted_loop(2, "%a = %x0", "tensor<4x8xf32>",
                           "%b = stablehlo.broadcast_in_dim %x1, dims = [1] : (tensor<8xf32>) -> "
                           "tensor<4x8xf32>\n"
                           "%c = stablehlo.broadcast_in_dim %x1, dims = [1] : (tensor<8xf32>) -> "
                           "tensor<4x8xf32>\n"
                           "%d = stablehlo.multiply %c, %x2 : tensor<4x8xf32>\n"
                           "%e = stablehlo.add %a, %b : tensor<4x8xf32>\n"
                           "%a1 = stablehlo.add %e, %d : tensor<4x8xf32>",
                           "%a1", 1) +
                  "return %loop#1 : tensor<4x8xf32>");
  const Module before = module.clone();
  EXPECT_TRUE(apply(hoist_loop_invariants_pass(), module));
  EXPECT_EQ(outer_ops(module, OpCode::kBroadcastInDim), 1);
  EXPECT_EQ(outer_ops(module, OpCode::kMultiply), 1);
  expect_same_values(before, module);
}

TEST(HoistLoopInvariants, MovesOutOfNestedLoops) {
  const std::string inner =
      "%zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "%in:2 = stablehlo.while(%j = %zero, %b = %a) : tensor<i32>, tensor<4xf32>\n"
      "cond {\n%l = stablehlo.constant dense<2> : tensor<i32>\n"
      "%g = stablehlo.compare LT, %j, %l, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "stablehlo.return %g : tensor<i1>\n} do {\n"
      "%o = stablehlo.constant dense<1> : tensor<i32>\n%j1 = stablehlo.add %j, %o : tensor<i32>\n"
      "%t = stablehlo.tanh %x1 : tensor<4xf32>\n%b1 = stablehlo.add %b, %t : tensor<4xf32>\n"
      "stablehlo.return %j1, %b1 : tensor<i32>, tensor<4xf32>\n}";
  Module module = program({"tensor<4xf32>", "tensor<4xf32>"},
                          counted_loop(3, "%a = %x0", "tensor<4xf32>", inner, "%in#1", 1) +
                              "return %loop#1 : tensor<4xf32>");
  const Module before = module.clone();
  EXPECT_TRUE(apply(hoist_loop_invariants_pass(), module));
  EXPECT_EQ(outer_ops(module, OpCode::kTanh), 1);
  expect_same_values(before, module);
}

}  // namespace
}  // namespace spmd::testing
