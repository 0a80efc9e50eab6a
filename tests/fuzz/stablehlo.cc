#include "ir/compare.h"
#include "ir/text.h"
#include "tests/fuzz/targets.h"

namespace spmd::testing {
namespace {

// What is read prints as something that reads as the same.
void read_stablehlo(std::string_view bytes) {
  const Module module = parse_stablehlo(bytes, "fuzz");
  const std::string printed = print_stablehlo(module, {.locations = true});
  std::optional<std::string> difference;
  try {
    difference = first_difference(module, parse_stablehlo(printed, "printed"));
  } catch (const UserError& error) {
    difference = error.what();
  }
  if (difference) throw InternalError("what was printed is not what was read: " + *difference);
}

}  // namespace

FuzzTarget stablehlo_target() {
  return {"stablehlo",
          read_stablehlo,
          seed_modules,
          {"module @m {",
           "func.func public @main(",
           "func.func private @f(",
           "stablehlo.",
           "\"stablehlo.",
           "tensor<",
           "tensor<4xf32>",
           "tensor<?xf32>",
           "tuple<",
           "dense<",
           "dense<\"0x",
           "dense_resource<",
           "array<i64: 1>",
           "#stablehlo.",
           "#sdy.sharding<@mesh, [{\"x\"}]>",
           "sdy.mesh @mesh = <[\"x\"=2]>",
           "sdy.sharding_constraint",
           "sdy.manual_computation",
           "mhlo.sharding = \"{devices=[2]<=[2]}\"",
           "tf.aliasing_output = 0 : i32",
           "loc(\"a\"(",
           "loc(fused[",
           "loc(callsite(",
           "#loc1 = loc(",
           "return",
           "^bb0(",
           "<{",
           "}>",
           "({",
           "})",
           "->",
           ": () ->",
           "%arg0",
           "%0#1",
           "0x7F800000",
           "9223372036854775807",
           "-1",
           "complex<f32>",
           "i4",
           "f8E4M3FN",
           "{-# dialect_resources: {"}};
}

}  // namespace spmd::testing
