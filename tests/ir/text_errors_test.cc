// What wrong text gets.
#include "tests/ir/text_testing.h"

namespace spmd::testing {
namespace {

std::string error_in(const std::string& text) {
  return error_of([&] { parse(text); });
}

// `line` is line 3 of a function with an argument %a of type tensor<4xf32>.
std::string error_at(const std::string& line) {
  return error_in("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n\n" + line +
                  "\n return %a : tensor<4xf32>\n}\n");
}

// Their product would overflow.
TEST(TextErrors, CountsOfDevicesHaveABound) {
  for (const std::string name : {"mhlo.num_replicas", "mhlo.num_partitions"}) {
    const std::string message = error_in(
        "module @m attributes {" + name +
        " = 9223372036854775807 : i64} {\n func.func @main(%a: tensor<4xf32> {mhlo.sharding = "
        "\"{devices=[2]<=[2]}\"}) -> tensor<4xf32> {\n return %a : tensor<4xf32> } }");
    EXPECT_EQ(message, "test.mlir: " + name +
                           " is 9223372036854775807\n  expected a number of devices, at most "
                           "1048576");
  }
}

TEST(TextErrors, NameThePlace) {
  EXPECT_EQ(error_at("%0 = stablehlo.add %a %a : tensor<4xf32>"),
            "test.mlir:3:23: found '%a', expected ':'");
  EXPECT_EQ(error_at("%0 = stablehlo.add %a, %b : tensor<4xf32>"),
            "test.mlir:3:24: %b is used before it is defined");
  EXPECT_EQ(error_at("%0 = stablehlo.add %a, %a#1 : tensor<4xf32>"),
            "test.mlir:3:24: %a has 1 results, not one numbered 1");
  EXPECT_EQ(error_at("%a = stablehlo.add %a, %a : tensor<4xf32>"),
            "test.mlir:3:1: %a is defined twice");
  EXPECT_EQ(error_at("%0 = stablehlo.add %a, %a : tensor<4xi32>"),
            "test.mlir:3:29: stablehlo.add: operand 0 has type tensor<4xf32>, here it is "
            "tensor<4xi32>");
  EXPECT_EQ(error_at("%0 = stablehlo.add %a, %a : tensor<4xq8>"),
            "test.mlir:3:38: the element type q8 is not supported");
  EXPECT_EQ(error_at("%0 = stablehlo.transpose %a, dimz = [0] : (tensor<4xf32>) -> tensor<4xf32>"),
            "test.mlir:3:30: found 'dimz', expected an operand, ':' or one of: dims");
  EXPECT_EQ(error_at("%0:2 = stablehlo.abs %a : tensor<4xf32>"),
            "test.mlir:3:1: stablehlo.abs has 1 results, 2 are named");
  EXPECT_EQ(error_at("%0 = \"stablehlo.gather\"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> "
                     "tensor<4xf32>"),
            "test.mlir:3:1: stablehlo.gather: the attribute dimension_numbers is missing");
  EXPECT_EQ(error_at("%0 = stablehlo.compare XX, %a, %a : (tensor<4xf32>, tensor<4xf32>) -> "
                     "tensor<4xi1>"),
            "test.mlir:3:24: stablehlo.compare: found 'XX' for the attribute comparison_direction, "
            "expected EQ, NE, LT, LE, GT, GE");
  EXPECT_EQ(error_at("%0 = call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>"),
            "test.mlir:3:11: there is no function @g");
  EXPECT_EQ(error_at("%0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<3xf32>"),
            "test.mlir:3:40: found ']', expected ','");
  EXPECT_EQ(error_at("%0 = stablehlo.constant dense<300> : tensor<i8>"),
            "test.mlir:3:31: found '300', expected an integer of 8 bits");
  EXPECT_EQ(error_at("%0 = stablehlo.constant dense<\"0x00\"> : tensor<3xf32>"),
            "test.mlir:3:31: 1 bytes, expected 12 for tensor<3xf32>");
}

TEST(TextErrors, OfTheModule) {
  EXPECT_EQ(error_in(""), "test.mlir: the file has no program\n  expected StableHLO text");
  EXPECT_EQ(error_in("module @m {\n  func.func @main() {\n    return\n"),
            "test.mlir:4:1: found the end of the text, expected '}' for the '{' at line 2");
  EXPECT_EQ(error_in("module @m {}"), "test.mlir: there is no function @main");
  EXPECT_EQ(error_in("module @m {\n func.func @main()\n}"), "test.mlir:2:12: @main has no body");
  EXPECT_EQ(error_in("hello"), "test.mlir:1:1: found 'hello', expected func.func or sdy.mesh");
  EXPECT_EQ(error_in("func.func @main() -> tensor<f32> {\n return\n}"),
            "test.mlir:1:34: @main returns other types than it declares");
  EXPECT_EQ(error_in("func.func @main(%a: tensor<4xf32> {sdy.sharding = "
                     "#sdy.sharding<@mesh, [{}]>}) {\n return\n}"),
            "test.mlir:1:65: there is no mesh @mesh\n  declare it: sdy.mesh @mesh = <[\"x\"=2]>");
}

TEST(TextErrors, AllUnsupportedOpsAtOnce) {
  EXPECT_EQ(
      error_in("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
               "  %0 = stablehlo.uniform_quantize %a : (tensor<4xf32>) -> "
               "tensor<4x!quant.uniform<i8:f32, 0.1>>\n"
               "  %1 = \"stablehlo.send\"(%a, %a) : (tensor<4xf32>, "
               "tensor<4xf32>) -> tensor<4xf32>\n"
               "  %2 = chlo.unheard_of %a : tensor<4xf32> -> tensor<4xf32>\n"
               "  %3 = chlo.unheard_of %a : tensor<4xf32> -> tensor<4xf32>\n"
               "  %4 = chlo.unheard_of %a : tensor<4xf32> -> tensor<4xf32>\n"
               "  %5 = chlo.unheard_of %a : tensor<4xf32> -> tensor<4xf32>\n"
               "  return %a : tensor<4xf32>\n}\n"),
      "test.mlir: 3 operations are not supported:\n"
      "  chlo.unheard_of: 4 times, lines 4, 5, 6, ...\n"
      "  stablehlo.send: 1 time, line 3: talks to the host while it runs; pass the data as "
      "arguments and results\n"
      "  stablehlo.uniform_quantize: 1 time, line 2: quantized types are not supported; export "
      "before quantization\n"
      "  express the program without them");
}

// An op with attributes says nothing of them there.
TEST(TextErrors, ShortReducersAreElementwiseWithoutAttributes) {
  for (const std::string op : {"stablehlo.compare", "chlo.constant", "stablehlo.reshape"})
    EXPECT_EQ(error_at("%0 = stablehlo.reduce(%a init: %a) applies " + op + " across"),
              "test.mlir:3:44: the short form of reduce is for elementwise ops without attributes");
  EXPECT_EQ(error_at("%0 = stablehlo.reduce(%a init: %a) applies stablehlo.add across x"),
            "test.mlir:3:65: found 'x', expected 'dimensions'");
}

TEST(TextErrors, ElidedConstants) {
  EXPECT_EQ(error_at("%0 = stablehlo.constant dense_resource<__elided__> : tensor<4xf32>"),
            "test.mlir:3:40: the elements of this constant are not in the file (__elided__)\n"
            "  export again with the weights as arguments of the function, or print without "
            "eliding large constants");
}

TEST(TextErrors, DeepNestingIsRefused) {
  const std::string deep(100000, '[');
  EXPECT_NE(error_at("%0 = stablehlo.custom_call @t(%a) {x = " + deep).find("nested too deeply"),
            std::string::npos);
  std::string regions;
  for (int i = 0; i < 1000; ++i)
    regions += "%r" + std::to_string(i) + " = \"stablehlo.if\"(%a) ({\n";
  EXPECT_NE(error_at(regions).find("nested too deeply"), std::string::npos);
  std::string location = "loc(";
  for (int i = 0; i < 10000; ++i) location += "callsite(";
  EXPECT_NE(error_at("%0 = stablehlo.abs %a : tensor<4xf32> " + location).find("nested too deeply"),
            std::string::npos);
  EXPECT_NE(error_in("#a = #b\n#b = #a\nfunc.func @main(%a: tensor<4xf32> {x = #a}) {\n return\n}")
                .find("nested too deeply"),
            std::string::npos);
}

// Every prefix and every deletion of a byte is a program or an error.
TEST(TextErrors, DamagedTextIsSafe) {
  const std::string text = main_text(
                               "(%n: tensor<i32> {tf.aliasing_output = 0 : i32}, "
                               "%a: tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)",
                               R"(
    %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32> loc(callsite("f"("a.py":1:2) at #loc))
    %0:2 = stablehlo.while(%i = %n, %x = %a) : tensor<i32>, tensor<4xf32>
     cond {
      %1 = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %2 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %3 = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %3 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y":(1)2, ?}]>]>} : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %i, %2 : tensor<i32>, tensor<4xf32>
    }
    return %0#0, %0#1 : tensor<i32>, tensor<4xf32>)") +
                           "#loc = loc(unknown)\n";
  expect_round_trips(parse(text));
  for (size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged.erase(at, 1);
    for (const std::string& tried : {text.substr(0, at), damaged}) {
      try {
        parse(tried);
      } catch (const UserError&) {
      }
    }
  }
}

}  // namespace
}  // namespace spmd::testing
