#include "passes/check_custom_calls.h"

#include "ir/text.h"
#include "passes/compile.h"
#include "tests/support/error_of.h"

namespace spmd::testing {
namespace {

std::string refusal(const std::string& body) {
  const std::string text =
      "module {\nfunc.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n" + body +
      "\nreturn %r : tensor<4xf32>\n}\n}";
  return error_of([&] { partition(parse_stablehlo(text, "calls.mlir")); });
}

// All at once, by target, with the file and the place of the first of each, whether that is a place
// in the file or, with debug information, in the program that it was exported from.
TEST(CheckCustomCalls, ListsThemWithTheirPlaces) {
  EXPECT_EQ(
      refusal(R"(
    %0 = stablehlo.custom_call @lapack_spotrf_ffi(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.custom_call @lapack_spotrf_ffi(%0) : (tensor<4xf32>) -> tensor<4xf32>
    %r = stablehlo.custom_call @callback(%1) : (tensor<4xf32>) -> tensor<4xf32> loc("jit(f)/cb"("f.py":7:0)))"),
      "calls.mlir: 2 kinds of custom calls for code outside of the program:\n"
      "  custom call to \"callback\" (1x, first at jit(f)/cb (f.py:7))\n"
      "  custom call to \"lapack_spotrf_ffi\" (2x, first at calls.mlir:4)\n"
      "  callbacks into Python (jax.debug.print, pure_callback, io_callback): remove them from "
      "the step; what it returns can be printed\n"
      "  Cholesky factors and triangular solves: export for a platform that has ops for them: "
      "jax.export.export(f, platforms=[\"tpu\"]), or jax.jit(f).trace(...).lower("
      "lowering_platforms=(\"tpu\",))");
}

TEST(CheckCustomCalls, LeavesDeadAndKnownOnesAlone) {
  EXPECT_EQ(refusal(R"(
    %0 = stablehlo.custom_call @callback(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %r = stablehlo.custom_call @Sharding(%a) : (tensor<4xf32>) -> tensor<4xf32>)"),
            "no error");
}

}  // namespace
}  // namespace spmd::testing
