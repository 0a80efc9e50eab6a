#include "passes/propagate_shardings.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/passes/pass_testing.h"

namespace spmd {
namespace {

// The remarks on one tensor of state on a=2,b=2, whose argument and result declare shardings.
std::vector<Remark> remarks(const std::string& argument, const std::string& result) {
  const auto attribute = [](const std::string& sharding) {
    return "sdy.sharding = #sdy.sharding<@mesh, " + sharding + ">";
  };
  Module module = parse_stablehlo(
      "module @m {\n  sdy.mesh @mesh = <[\"a\"=2, \"b\"=2]>\n"
      "  func.func public @main(%arg0: tensor<8x4xf32> {tf.aliasing_output = 0 : i32, " +
          attribute(argument) + "}) -> (tensor<8x4xf32> {jax.result_info = \"w\", " +
          attribute(result) +
          "}) {\n    %0 = stablehlo.add %arg0, %arg0 : tensor<8x4xf32>\n"
          "    return %0 : tensor<8x4xf32>\n  }\n}\n",
      "m.mlir");
  PassContext context;
  propagate_shardings_pass().run(module, context);
  EXPECT_EQ(module.main().result_info[0].sharding->to_string(module.mesh),
            module.main().value(module.main().arguments()[0]).sharding->to_string(module.mesh));
  return context.remarks;
}

TEST(PropagateShardings, AResultThatReplacesAnArgumentIsPlacedLikeIt) {
  const std::vector<Remark> found = remarks("[{\"a\"}, {}]", "[{}, {\"b\"}]");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, "w");
  EXPECT_EQ(found[0].text,
            "is declared as [{}, {\"b\"}], and is placed like the argument that it replaces: "
            "[{\"a\"}, {}]");
}

TEST(PropagateShardings, NothingIsRemarkedWhereBothAgree) {
  EXPECT_TRUE(remarks("[{\"a\"}, {}]", "[{\"a\"}, {}]").empty());
  EXPECT_TRUE(remarks("[{\"a\"}, {}]", "[{?}, {?}]").empty());
}

// On one device constraints and manual regions only say so.
TEST(PropagateShardings, WithoutMeshAxesNothingIsPlaced) {
  Module module = parse_stablehlo(R"(module @m {
  sdy.mesh @mesh = <[]>
  func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = sdy.sharding_constraint %a <@mesh, [{}]> : tensor<4xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={} (%b: tensor<4xf32>) {
      %2 = stablehlo.add %b, %0 : tensor<4xf32>
      sdy.return %2 : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
})",
                                  "m.mlir");
  const Module before = module.clone();
  EXPECT_TRUE(testing::apply(propagate_shardings_pass(), module));
  EXPECT_EQ(testing::body_of(module),
            "%0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>\nreturn %0 : tensor<4xf32>\n");
  testing::expect_same_values(before, module);
  EXPECT_FALSE(testing::apply(propagate_shardings_pass(), module));
}

// Whatever comes from files is whole. The axes are not used for anything else.
TEST(PropagateShardings, UnreducedAxesAreReserved) {
  Module module = parse_stablehlo(R"(module @m {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%a: tensor<4x4xf32> {jax.arg_info = "w", sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {?}], unreduced={"b"}>}, %b: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}]>}) -> tensor<4x4xf32> {
    %0 = stablehlo.add %a, %b : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
})",
                                  "m.mlir");
  PassContext context;
  propagate_shardings_pass().run(module, context);
  const Function& main = module.main();
  EXPECT_EQ(main.value(main.arguments()[0]).sharding->to_string(module.mesh), R"([{"a"}, {}])");
  ASSERT_EQ(context.remarks.size(), 1u);
  EXPECT_EQ(
      context.remarks[0].text,
      R"(is declared as [{"a"}, {?}], unreduced={"b"}: it is reduced where that costs least)");
}

// x is annotated, w's axes come back through the dot, the result asks for nothing.
TEST(PropagateShardings, SaysWhereAxesCameFrom) {
  Module module = parse_stablehlo(R"(module @m {
  sdy.mesh @mesh = <["a"=2]>
  func.func public @main(
      %arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>} loc("x"),
      %arg1: tensor<4x2xf32> loc("w"), %arg2: tensor<2xf32> loc("b")) -> tensor<8x2xf32> {
    %0 = stablehlo.negate %arg1 : tensor<4x2xf32>
    %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0]
        : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    return %1 : tensor<8x2xf32>
  }
}
)",
                                  "m.mlir");
  PassContext context;
  context.options.trace_shardings = true;
  propagate_shardings_pass().run(module, context);
  std::vector<std::string> lines;
  for (const PlacedValue& value : context.placements) {
    lines.push_back(value.place + " " + value.sharding + " " + value.origin);
  }
  const std::vector<std::string> expected = {
      R"(x [{}, {"a"}] x)",
      R"(w [{"a"}, {}] x, through stablehlo.negate at m.mlir:6)",
      R"(b [{}] )",
      R"(stablehlo.negate at m.mlir:6 [{"a"}, {}] x, through stablehlo.dot_general at m.mlir:7)",
      R"(stablehlo.dot_general at m.mlir:7 [{}, {}] )",
  };
  EXPECT_EQ(lines, expected);
}

}  // namespace
}  // namespace spmd
