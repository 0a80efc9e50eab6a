// What the results of an HLO module are called.
#include <gtest/gtest.h>

#include "tests/frontends/hlo_text.h"

namespace spmd::hlo_result_names_test {
namespace {

constexpr const char* kScalar = " shape { element_type: F32 } ";

// The name of the result of an add of a parameter, called `name` and with the scope `op_name`.
std::string name_of_result(const std::string& name, const std::string& op_name) {
  const std::string metadata = op_name.empty() ? "" : " metadata { op_name: \"" + op_name + "\" } ";
  const std::string text = std::string("instructions { name: 'x' opcode: 'parameter' id: 1") +
                           kScalar + "} instructions { name: '" + name +
                           "' opcode: 'add' id: 2 operand_ids: 1 operand_ids: 1" + kScalar +
                           metadata + "}";
  const Module module = import_hlo(hlo_module(text, 2), "test.pb");
  return module.main().result_info[0].name;
}

TEST(HloResultNames, AreTheNamedScopesOfWhatComputesThem) {
  EXPECT_EQ(name_of_result("divide.3", "jit(step)/loss/div"), "loss");
  EXPECT_EQ(name_of_result("divide.3", "jit(step)/jit(main)/jvp(loss)/mean/div"), "loss/mean");
  EXPECT_EQ(name_of_result("divide.3", "jit(step)/transpose(jvp(head))/div"), "head");
  EXPECT_EQ(name_of_result("divide.3", "jit(step)/while/body/metrics/div"), "metrics");
}

TEST(HloResultNames, AreNoneWhereOnlyJaxNamedAnything) {
  EXPECT_EQ(name_of_result("divide.3", "jit(step)/div"), "");
  EXPECT_EQ(name_of_result("divide.3", "jit(step)/jvp()/reduce_sum"), "");
  EXPECT_EQ(name_of_result("reduce_sum.3", "jit(step)/while/body/closed_call/reduce_sum"), "");
  EXPECT_EQ(name_of_result("loss", "jit(step)/div"), "");
  EXPECT_EQ(name_of_result("div", "div"), "");
  EXPECT_EQ(name_of_result("x", "jit(f)/((/add"), "");
}

TEST(HloResultNames, AreThoseOfInstructionsThatSomebodyNamed) {
  EXPECT_EQ(name_of_result("loss", ""), "loss");
  EXPECT_EQ(name_of_result("add", ""), "");
  EXPECT_EQ(name_of_result("loss.3", ""), "");
  EXPECT_EQ(name_of_result("reduce_sum.5", ""), "");
  EXPECT_EQ(name_of_result("p1", ""), "");
}

// The parameter that a result replaces names it; others are named one by one.
TEST(HloResultNames, OfStateAreThoseOfTheArguments) {
  const std::string text =
      std::string("instructions { name: 'w' opcode: 'parameter' id: 1") + kScalar +
      "} instructions { name: 'new' opcode: 'negate' id: 2 operand_ids: 1" + kScalar +
      "} instructions { name: 'loss' opcode: 'abs' id: 3 operand_ids: 1" + kScalar +
      "} instructions { name: 't' opcode: 'tuple' id: 4 operand_ids: 2 operand_ids: 3 "
      "shape { element_type: TUPLE tuple_shapes { element_type: F32 } "
      "tuple_shapes { element_type: F32 } } }";
  const Module module =
      import_hlo(hlo_module(text, 4, {},
                            "input_output_alias { entries { output_shape_index: 0 "
                            "parameter_number: 0 kind: 2 } }"),
                 "test.pb");
  EXPECT_EQ(module.main().result_info[0].name, "w");
  EXPECT_EQ(module.main().result_info[1].name, "loss");
}

}  // namespace
}  // namespace spmd::hlo_result_names_test
