// Loops and branches: what they compute, and that carries are updated in place.
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

using Kinds = std::map<std::string, int>;

const plan::Step* find_while(const plan::Sequence& sequence) {
  for (const plan::Step& step : sequence.steps())
    if (step.has_while_()) return &step;
  return nullptr;
}

TEST(ControlFlow, AScanStacksItsResultsInPlace) {
  const Module module =
      module_of("(%x: tensor<8xf32>, %w: tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>)", R"(
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %z = stablehlo.constant dense<0.000000e+00> : tensor<5x8xf32>
    %0:4 = stablehlo.while(%i = %i0, %c = %x, %ys = %z, %ws = %w) : tensor<i32>, tensor<8xf32>, tensor<5x8xf32>, tensor<5x8xf32>
    cond {
      %n = stablehlo.constant dense<5> : tensor<i32>
      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %s = stablehlo.dynamic_slice %ws, %i, %zero, sizes = [1, 8] : (tensor<5x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %s1 = stablehlo.reshape %s : (tensor<1x8xf32>) -> tensor<8xf32>
      %m = stablehlo.multiply %c, %s1 : tensor<8xf32>
      %y = stablehlo.tanh %m : tensor<8xf32>
      %y1 = stablehlo.reshape %y : (tensor<8xf32>) -> tensor<1x8xf32>
      %u = stablehlo.dynamic_update_slice %ys, %y1, %i, %zero : (tensor<5x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<5x8xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %y, %u, %ws : tensor<i32>, tensor<8xf32>, tensor<5x8xf32>, tensor<5x8xf32>
    }
    return %0#1, %0#2 : tensor<8xf32>, tensor<5x8xf32>)");
  expect_meaning(module, 1e-6);

  const plan::Plan plan = plan_of(module);
  const plan::Step* loop = find_while(plan.programs(0).body());
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->while_().trip_count(), 5);
  // No copies: the slice, the new carry, the update, the counter.
  EXPECT_EQ(kinds(loop->while_().body()),
            (Kinds{{"dynamic_slice", 1}, {"elementwise", 2}, {"dynamic_update_slice", 1}}));
  for (const plan::Step& step : loop->while_().body().steps()) {
    if (!step.has_dynamic_update_slice()) continue;
    EXPECT_EQ(step.dynamic_update_slice().operand().buffer(),
              step.dynamic_update_slice().out().buffer());
    EXPECT_EQ(plan.results(1).buffer(), step.dynamic_update_slice().out().buffer());
  }
}

TEST(ControlFlow, CarriesMayChangePlaces) {
  const Module module = module_of(
      "(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<2x2xf32>) -> (tensor<4xf32>, "
      "tensor<4xf32>, tensor<2x2xf32>, tensor<i32>)",
      R"(
    %i0 = stablehlo.constant dense<7> : tensor<i32>
    %0:4 = stablehlo.while(%i = %i0, %x = %a, %y = %b, %t = %c) : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>
    cond {
      %n = stablehlo.constant dense<0> : tensor<i32>
      %p = stablehlo.compare GT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %two = stablehlo.constant dense<2> : tensor<i32>
      %next = stablehlo.subtract %i, %two : tensor<i32>
      %t1 = stablehlo.transpose %t, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
      %s = stablehlo.add %x, %y : tensor<4xf32>
      stablehlo.return %next, %y, %s, %t1 : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>
    }
    return %0#1, %0#2, %0#3, %0#0 : tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<i32>)");
  expect_meaning(module);
  EXPECT_EQ(find_while(plan_of(module).programs(0).body())->while_().trip_count(), 4);
}

TEST(ControlFlow, OldCarryReadAfterTheNewOneIsMade) {
  // %new may not be written into %x's memory: %old is read later.
  const Module module = module_of("(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)", R"(
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0:3 = stablehlo.while(%i = %i0, %x = %a, %r = %zero) : tensor<i32>, tensor<4xf32>, tensor<f32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %new = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
      %new2 = stablehlo.add %new, %new : tensor<4xf32>
      %sum = stablehlo.reduce(%new2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      %old = stablehlo.reduce(%x init: %sum) applies stablehlo.maximum across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      %r1 = stablehlo.add %r, %old : tensor<f32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %new2, %r1 : tensor<i32>, tensor<4xf32>, tensor<f32>
    }
    return %0#1, %0#2 : tensor<4xf32>, tensor<f32>)");
  expect_meaning(module);
}

TEST(ControlFlow, NestedLoopsAndCapturedValues) {
  const Module module =
      module_of("(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)", R"(
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %k = stablehlo.exponential %b : tensor<4xf32>
    %half = stablehlo.constant dense<5.000000e-01> : tensor<4xf32>
    %0:2 = stablehlo.while(%i = %i0, %x = %a) : tensor<i32>, tensor<4xf32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %1:2 = stablehlo.while(%j = %i, %y = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %n = stablehlo.constant dense<4> : tensor<i32>
        %p = stablehlo.compare LT, %j, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j1 = stablehlo.add %j, %one : tensor<i32>
        %y1 = stablehlo.multiply %y, %half : tensor<4xf32>
        %y2 = stablehlo.add %y1, %k : tensor<4xf32>
        stablehlo.return %j1, %y2 : tensor<i32>, tensor<4xf32>
      }
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %m = stablehlo.multiply %1#1, %x : tensor<4xf32>
      stablehlo.return %next, %m : tensor<i32>, tensor<4xf32>
    }
    %r = stablehlo.add %0#1, %k : tensor<4xf32>
    return %r, %k : tensor<4xf32>, tensor<4xf32>)");
  expect_meaning(module, 1e-6);
}

TEST(ControlFlow, BranchesWriteTheirResults) {
  const std::string body = R"(
    %n = stablehlo.negate %x : tensor<4xf32>
    %r:2 = "stablehlo.case"(%i) ({
      stablehlo.return %x, %n : tensor<4xf32>, tensor<4xf32>
    }, {
      %0 = stablehlo.add %x, %n : tensor<4xf32>
      %1 = stablehlo.multiply %x, %x : tensor<4xf32>
      stablehlo.return %1, %0 : tensor<4xf32>, tensor<4xf32>
    }, {
      %c = stablehlo.constant dense<3.000000e+00> : tensor<4xf32>
      %0 = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
      stablehlo.return %c, %0 : tensor<4xf32>, tensor<4xf32>
    }) : (tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>)
    %s = stablehlo.add %r#0, %r#1 : tensor<4xf32>
    return %s, %r#0 : tensor<4xf32>, tensor<4xf32>)";
  const Module module =
      module_of("(%i: tensor<i32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)", body);
  std::mt19937 random(3);
  for (int32_t index : {-1, 0, 1, 2, 5}) {
    std::vector<Literal> arguments = random_arguments(module, random);
    arguments[0] = Literal::splat({DType::kS32, {}}, index);
    expect_meaning(module, arguments);
  }
}

TEST(ControlFlow, StateIsUpdatedInItsArgument) {
  const Module module = module_of(
      "(%w: tensor<512xf32> {tf.aliasing_output = 0 : i32}, %g: tensor<512xf32>, %n: tensor<i32> "
      "{tf.aliasing_output = 1 : i32}) -> (tensor<512xf32>, tensor<i32>, tensor<512xf32>)",
      R"(
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.subtract %w, %g : tensor<512xf32>
    %1 = stablehlo.add %n, %one : tensor<i32>
    return %0, %1, %g : tensor<512xf32>, tensor<i32>, tensor<512xf32>)");
  const plan::Plan plan = plan_of(module);
  EXPECT_EQ(plan.results(0).buffer(), plan.arguments(0).buffer());
  EXPECT_EQ(plan.results(1).buffer(), plan.arguments(2).buffer());
  EXPECT_EQ(plan.results(2).buffer(), plan.arguments(1).buffer());  // as it came
  EXPECT_EQ(plan.buffers_size(), 3);
  expect_meaning(module);
}

TEST(ControlFlow, StateWhoseOldValueIsStillNeededIsNot) {
  const Module module = module_of(
      "(%w: tensor<8xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<8xf32>, tensor<8xf32>)", R"(
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %r = stablehlo.reverse %w, dims = [0] : tensor<8xf32>
    %0 = stablehlo.add %r, %w : tensor<8xf32>
    return %0, %w : tensor<8xf32>, tensor<8xf32>)");
  const plan::Plan plan = plan_of(module);
  EXPECT_NE(plan.results(0).buffer(), plan.arguments(0).buffer());
  EXPECT_NE(plan.results(1).buffer(), plan.arguments(0).buffer());
  expect_meaning(module);
}

}  // namespace
}  // namespace spmd::testing
