#include "passes/propagate_shardings.h"

#include <gtest/gtest.h>

#include "ir/text.h"

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

}  // namespace
}  // namespace spmd
