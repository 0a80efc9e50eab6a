#include "ir/builder.h"
#include "ir/verifier.h"
#include "tests/ir/verify_testing.h"

namespace spmd::testing {
namespace {

std::string while_loop(const std::string& condition, const std::string& body) {
  return main_text("(%n: tensor<i32>, %t: tensor<i1>)",
                   "    %0 = \"stablehlo.while\"(%n) ({\n" + condition + "\n    }, {\n" + body +
                       "\n    }) : (tensor<i32>) -> tensor<i32>\n    return");
}

TEST(VerifyControlFlow, While) {
  const std::string op = "stablehlo.while: ";
  const std::string condition = "^bb0(%c: tensor<i32>):\n stablehlo.return %t : tensor<i1>";
  const std::string body = "^bb0(%c: tensor<i32>):\n stablehlo.return %c : tensor<i32>";
  EXPECT_EQ(rejection(while_loop(condition, body)), "");
  EXPECT_EQ(rejection(while_loop(body, body)),
            op + "the condition is (tensor<i32>) -> (tensor<i32>), expected (tensor<i32>) -> "
                 "(tensor<i1>)");
  EXPECT_EQ(rejection(while_loop(condition, condition)),
            op + "the body is (tensor<i32>) -> (tensor<i1>), expected (tensor<i32>) -> "
                 "(tensor<i32>)");
  EXPECT_EQ(rejection(while_loop(condition, "stablehlo.return %n : tensor<i32>")),
            op + "the body is () -> (tensor<i32>), expected (tensor<i32>) -> (tensor<i32>)");
  EXPECT_EQ(rejection(while_loop(condition,
                                 "^bb0(%c: tensor<f32>):\n stablehlo.return %n : tensor<i32>")),
            op + "the body is (tensor<f32>) -> (tensor<i32>), expected (tensor<i32>) -> "
                 "(tensor<i32>)");
}

const VerifierRow kBranches[] = {
    {"%p: tensor<i1>, %a: tensor<f32>",
     R"(%0 = "stablehlo.if"(%p) ({
      stablehlo.return %a : tensor<f32>
    }, {
      stablehlo.return %p : tensor<i1>
    }) : (tensor<i1>) -> tensor<f32>)",
     "stablehlo.if: branch 1 is () -> (tensor<i1>), expected () -> (tensor<f32>)"},
    {"%p: tensor<1xi1>, %a: tensor<f32>",
     R"(%0 = "stablehlo.if"(%p) ({
      stablehlo.return %a : tensor<f32>
    }, {
      stablehlo.return %a : tensor<f32>
    }) : (tensor<1xi1>) -> tensor<f32>)",
     "stablehlo.if: the predicate is tensor<1xi1>, expected tensor<i1>"},
    {"%p: tensor<i1>, %a: tensor<f32>",
     R"(%0 = "stablehlo.if"(%p) ({
      stablehlo.return %a : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>)",
     "stablehlo.if: has 1 regions, expected 2"},
    {"%p: tensor<i1>, %a: tensor<f32>",
     R"(%0 = "stablehlo.if"(%p, %a) ({
      stablehlo.return %a : tensor<f32>
    }, {
      stablehlo.return %a : tensor<f32>
    }) : (tensor<i1>, tensor<f32>) -> tensor<f32>)",
     "stablehlo.if: has 2 operands, expected the predicate"},
    {"%i: tensor<i32>, %a: tensor<f32>",
     R"(%0 = "stablehlo.case"(%i) ({
    ^bb0(%b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>)",
     "stablehlo.case: branch 0 is (tensor<f32>) -> (tensor<f32>), expected () -> (tensor<f32>)"},
    {"%i: tensor<i64>, %a: tensor<f32>",
     R"(%0 = "stablehlo.case"(%i) ({
      stablehlo.return %a : tensor<f32>
    }) : (tensor<i64>) -> tensor<f32>)",
     "stablehlo.case: the index of a branch is tensor<i64>, expected tensor<i32>"},
    {"%i: tensor<i32>", R"(%0 = "stablehlo.case"(%i) : (tensor<i32>) -> tensor<f32>)",
     "stablehlo.case: has no branches, expected at least one"},
};

TEST(VerifyControlFlow, Branches) { check_rows(kBranches); }

std::string call(const std::string& types, const std::string& operands = "%a") {
  return main_text("(%a: tensor<4xf32>)", "    %0 = \"func.call\"(" + operands +
                                              ") <{callee = @f}> : " + types +
                                              "\n    return\n  }\n  func.func private @f(%b: "
                                              "tensor<2xf32>) -> tensor<2xf32> {\n    return %b : "
                                              "tensor<2xf32>");
}

TEST(VerifyControlFlow, Calls) {
  EXPECT_EQ(rejection(call("(tensor<4xf32>) -> tensor<2xf32>")),
            "func.call: does not match the signature of @f: operand 0 is tensor<4xf32>, expected "
            "tensor<2xf32>");
  EXPECT_EQ(rejection(call("(tensor<4xf32>, tensor<4xf32>) -> tensor<2xf32>", "%a, %a")),
            "func.call: does not match the signature of @f: 2 operands, expected 1");
  EXPECT_EQ(rejection(main_text(
                "(%a: tensor<4xf32>)",
                "    %0:2 = \"func.call\"(%a) <{callee = @f}> : (tensor<4xf32>) -> "
                "(tensor<4xf32>, tensor<4xf32>)\n    return\n  }\n  func.func private @f(%b: "
                "tensor<4xf32>) -> tensor<4xf32> {\n    return %b : tensor<4xf32>")),
            "func.call: does not match the signature of @f: 2 results, expected 1");
}

const VerifierRow kControlFlowRows[] = {
    {"%a: tensor<4xf32>, %b: tensor<2xf32>",
     "%0:2 = \"stablehlo.custom_call\"(%a, %b) <{call_target_name = \"Sharding\"}> : "
     "(tensor<4xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<4xf32>)",
     "stablehlo.custom_call: a result is tensor<2xf32>, expected tensor<4xf32>"},
    {"%a: tensor<4xf32>",
     "%0 = \"stablehlo.optimization_barrier\"(%a) : (tensor<4xf32>) -> tensor<2xf32>",
     "stablehlo.optimization_barrier: result 0 has type tensor<2xf32>, expected tensor<4xf32>"},
    {"%a: tensor<4xf32>",
     "\"func.return\"() : () -> ()\n    %0 = stablehlo.negate %a : tensor<4xf32>",
     "stablehlo.return: is not the last op of its block"},
};

TEST(VerifyControlFlow, Rows) { check_rows(kControlFlowRows); }

// Of the function as a whole.
TEST(VerifyFunction, AliasesAndGlobalShapes) {
  const auto reject = [](const std::string& argument, const std::string& other,
                         const std::string& result) {
    return rejection("module @m {\n  func.func public @main(%a: tensor<4xf32> {" + argument +
                     "}, %b: tensor<2xf32> {" + other + "}) -> (tensor<4xf32> {" + result +
                     "}) {\n    return %a : tensor<4xf32>\n  }\n}\n");
  };
  EXPECT_EQ(reject("tf.aliasing_output = 0 : i32", "", ""), "");
  EXPECT_EQ(reject("", "tf.aliasing_output = 0 : i32", ""),
            "@main: argument 1 of type tensor<2xf32> is replaced by result 0 of type "
            "tensor<4xf32>");
  EXPECT_EQ(reject("tf.aliasing_output = 0 : i32", "tf.aliasing_output = 0 : i32", ""),
            "@main: result 0 replaces two arguments");
  EXPECT_EQ(reject("spmd.global_shape = array<i64: 3>", "", ""), "");
  EXPECT_EQ(reject("spmd.global_shape = array<i64: 5>", "", ""),
            "@main: argument 0: its global shape tensor<5xf32> does not fit shards of "
            "tensor<4xf32>");
  EXPECT_EQ(reject("", "", "spmd.global_shape = array<i64: 2, 2>"),
            "@main: result 0: its global shape tensor<2x2xf32> does not fit shards of "
            "tensor<4xf32>");
}

// Text has no tokens; the proto may.
TEST(VerifyFunction, TokensHoldNoData) {
  Module module;
  Function& fn = module.function(module.add_function("main"));
  const ValueId token = fn.add_block_argument(fn.body(), {DType::kToken, {}});
  Builder builder(fn, fn.body());
  builder.value(OpCode::kOptimizationBarrier, {token});
  const OpId reshape = builder.create(OpCode::kReshape, {token}, {{DType::kToken, {1}}});
  builder.return_op({});
  fn.argument_info.resize(1);
  const std::string error = error_of([&] { verify(module); });
  EXPECT_EQ(error.substr(0, error.find('\n')),
            ": @main: stablehlo.reshape: operand 0 is a token, expected a tensor");
  fn.erase_op(reshape);
  verify(module);
}

}  // namespace
}  // namespace spmd::testing
