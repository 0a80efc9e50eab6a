#include "passes/inline_calls.h"

#include "support/error.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

TEST(InlineCalls, NestedCallsAndSharedFunctions) {
  Module module = program(R"(module @test {
    func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {
      %0 = call @twice(%arg0) : (tensor<f32>) -> tensor<f32>
      %1 = call @negate(%0) : (tensor<f32>) -> tensor<f32>
      return %1 : tensor<f32>
    }
    func.func private @unused(%arg0: tensor<f32>) -> tensor<f32> {
      return %arg0 : tensor<f32>
    }
    func.func private @twice(%arg0: tensor<f32>) -> tensor<f32> {
      %0 = call @negate(%arg0) : (tensor<f32>) -> tensor<f32>
      %1 = stablehlo.add %arg0, %0 : tensor<f32>
      return %1 : tensor<f32>
    }
    func.func private @negate(%arg0: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.negate %arg0 : tensor<f32>
      return %0 : tensor<f32>
    }
  })");
  expect_rewrite(inline_calls_pass(), module.clone(), R"(
    %0 = stablehlo.negate %arg0 : tensor<f32>
    %1 = stablehlo.add %arg0, %0 : tensor<f32>
    %2 = stablehlo.negate %1 : tensor<f32>
    return %2 : tensor<f32>)");
  apply(inline_calls_pass(), module);
  EXPECT_EQ(module.functions().size(), 1u);
}

TEST(InlineCalls, CallsInsideLoops) {
  Module module = program(R"(module @test {
    func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<f32>
      cond {
        %c_1 = stablehlo.constant dense<3> : tensor<i32>
        %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %c_1 = stablehlo.constant dense<1> : tensor<i32>
        %1 = stablehlo.add %iterArg, %c_1 : tensor<i32>
        %2 = func.call @double(%iterArg_0) : (tensor<f32>) -> tensor<f32>
        stablehlo.return %1, %2 : tensor<i32>, tensor<f32>
      }
      return %0#1 : tensor<f32>
    }
    func.func private @double(%arg0: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.add %arg0, %arg0 : tensor<f32>
      return %0 : tensor<f32>
    }
  })");
  const Module before = module.clone();
  EXPECT_TRUE(apply(inline_calls_pass(), module));
  EXPECT_EQ(count_ops(module, OpCode::kCall), 0);
  expect_same_values(before, module);
}

TEST(InlineCalls, RecursionIsRefused) {
  Module module = program(R"(module @test {
    func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {
      %0 = call @f(%arg0) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    func.func private @f(%arg0: tensor<f32>) -> tensor<f32> {
      %0 = call @g(%arg0) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    func.func private @g(%arg0: tensor<f32>) -> tensor<f32> {
      %0 = call @f(%arg0) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
  })");
  try {
    apply(inline_calls_pass(), module);
    FAIL() << "recursion was accepted";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("function @f calls itself"), std::string::npos)
        << error.what();
  }
}

TEST(InlineCalls, RefusesWhatDoublesAtEveryLevel) {
  std::string text = "module @test {\n";
  for (int i = 0; i < 64; ++i) {
    const std::string name = i == 0 ? "public @main" : "private @f" + std::to_string(i);
    const std::string next = "call @f" + std::to_string(i + 1);
    text += "func.func " + name + "(%a: tensor<f32>) -> tensor<f32> {\n%0 = " + next +
            "(%a) : (tensor<f32>) -> tensor<f32>\n%1 = " + next +
            "(%0) : (tensor<f32>) -> tensor<f32>\nreturn %1 : tensor<f32>\n}\n";
  }
  text += "func.func private @f64(%a: tensor<f32>) -> tensor<f32> {\nreturn %a : tensor<f32>\n}\n}";
  Module module = program(text);
  EXPECT_THROW(apply(inline_calls_pass(), module), UserError);
}

}  // namespace
}  // namespace spmd::testing
