#include "support/names.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace spmd {
namespace {

using Names = std::vector<std::string>;

TEST(Names, Words) {
  EXPECT_EQ(words_of("state__params____w__"), (Names{"state", "params", "w"}));
  EXPECT_EQ(words_of("result[0]['params'].w"), (Names{"result", "0", "params", "w"}));
  EXPECT_EQ(words_of("..."), Names{});
}

TEST(Names, Places) {
  for (const char* name : {"", "result", "result[0]", "result[0][12]", "[0][1]"}) {
    EXPECT_TRUE(is_place_only(name)) << name;
  }
  for (const char* name : {"w", "result1", "results[0]", "result[0].w", "result[0]['0']", "s[0]"}) {
    EXPECT_FALSE(is_place_only(name)) << name;
  }
}

// A bare array's result has no name; its argument's location has.
TEST(Names, LocationNamesWhatTheResultDoesNot) {
  const auto text = [](const std::string& result) {
    return "module @m {\n  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : "
           "i32} "
           "loc(\"w\")) -> (tensor<4xf32> {jax.result_info = \"" +
           result + "\"}) {\n    return %arg0 : tensor<4xf32>\n  }\n}\n";
  };
  const Module bare = parse_stablehlo(text("result[0]"), "m.mlir");
  EXPECT_EQ(bare.main().argument_info[0].name, "w");
  EXPECT_EQ(parse_stablehlo(print_stablehlo(bare), "m.mlir").main().argument_info[0].name, "w");
  const Module named = parse_stablehlo(text("result[0]['kernel']"), "m.mlir");
  EXPECT_EQ(named.main().argument_info[0].name, "result[0]['kernel']");
}

}  // namespace
}  // namespace spmd
