#include "passes/carry_casts.h"

#include "ir/verifier.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

// A training step that uses its parameter %p as `type`; `update` makes %q, the first result.
Module step_of(const std::string& attributes, const std::string& update, const std::string& type) {
  return program("func.func public @main(%p: tensor<8xf32> " + attributes +
                 ", %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {\n"
                 "%n = stablehlo.convert %p : (tensor<8xf32>) -> tensor<8x" +
                 type + ">\n%w = stablehlo.convert %n : (tensor<8x" + type +
                 ">) -> tensor<8xf32>\n"
                 "%g = stablehlo.multiply %w, %x : tensor<8xf32>\n" +
                 update + "return %q, %g : tensor<8xf32>, tensor<8xf32>\n}\n");
}

constexpr const char* kAliased = "{tf.aliasing_output = 0 : i32}";
constexpr const char* kSubtract = "%q = stablehlo.subtract %p, %g : tensor<8xf32>\n";

TEST(CarryCasts, OfTheNextValue) {
  Module module = step_of(kAliased, kSubtract, "bf16");
  const std::vector<CarriedValue> carried = carry_casts(module);
  verify(module);
  ASSERT_EQ(carried.size(), 1u);
  EXPECT_EQ(carried[0].argument, 2);
  EXPECT_EQ(carried[0].result, 2);
  EXPECT_EQ(carried[0].source, 0);
  const Function& fn = module.main();
  EXPECT_EQ(fn.type(fn.arguments()[2]), (TensorType{DType::kBF16, {8}}));
  // The one conversion to 16 bits is of the result that replaces the parameter.
  const Op* cast = fn.def(fn.results()[2]);
  ASSERT_NE(cast, nullptr);
  EXPECT_EQ(cast->code, OpCode::kConvert);
  EXPECT_EQ(cast->operands[0], fn.results()[0]);
  EXPECT_EQ(count_ops(module, OpCode::kConvert), 2);
  EXPECT_EQ(fn.argument_info[2].aliased_result, 2);
}

// Not replaced; replaced by what no kernel computes; widened.
TEST(CarryCasts, OthersStay) {
  const char* reverse = "%q = stablehlo.reverse %g, dims = [0] : tensor<8xf32>\n";
  Module apart = step_of("", kSubtract, "bf16"), moved = step_of(kAliased, reverse, "bf16"),
         widened = step_of(kAliased, kSubtract, "f64");
  for (Module* module : {&apart, &moved, &widened}) EXPECT_TRUE(carry_casts(*module).empty());
}

}  // namespace
}  // namespace spmd::testing
