// Functions that a model defines itself, as PyTorch's exporters write them.
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/support/onnx_model.h"

namespace spmd::onnx_functions_test {
namespace {

using testing::integer_attribute;
using testing::numbers;
using testing::onnx_node;
using testing::OnnxModel;
using Numbers = std::vector<double>;

constexpr const char* kOpset = "opset_import { version: 21 } ";

std::string local() { return "domain: 'local' "; }
std::string reference(const std::string& name, const std::string& to) {
  return "attribute { name: '" + name + "' ref_attr_name: '" + to + "' } ";
}
std::string with_default(const std::string& name, const std::string& value) {
  return "attribute_proto { name: '" + name + "' " + value + " } ";
}

// A model of input x (two floats) and output y.
OnnxModel model_of(const std::vector<onnx::NodeProto>& nodes) {
  OnnxModel model;
  model.import_domain("local", 1).input("x", {"2"}).output("y");
  for (const onnx::NodeProto& node : nodes) *model.graph().add_node() = node;
  return model;
}
Numbers run(const OnnxModel& model) {
  return numbers(run_onnx(model, {testing::f32({2}, {-3, 4})})[0]);
}
std::string error(const OnnxModel& model) {
  return testing::error_of([&] { model.import(); });
}

TEST(OnnxFunctions, NamesInsideAndOutsideAreDifferentValues) {
  // Both the graph and the function have a "t", and the function's input is named as the output.
  OnnxModel model =
      model_of({onnx_node("Neg", {"x"}, {"t"}), onnx_node("Double", {"t"}, {"u"}, local()),
                onnx_node("Sub", {"u", "t"}, {"y"})});
  model.function(local() + "name: 'Double' input: 'y' output: 'r'" + kOpset,
                 {onnx_node("Abs", {"y"}, {"t"}), onnx_node("Add", {"t", "t"}, {"r"})});
  EXPECT_EQ(run(model), (Numbers{6 - 3, 8 + 4}));
}

TEST(OnnxFunctions, DoNotSeeTheNamesOfTheirCaller) {
  OnnxModel model = model_of(
      {onnx_node("Neg", {"x"}, {"t"}), onnx_node("F", {"t"}, {"y"}, local() + "name: 'call'")});
  model.function(local() + "name: 'F' input: 'a' output: 'r'" + kOpset,
                 {onnx_node("Add", {"a", "x"}, {"r"}, "name: 'inner'")});
  EXPECT_NE(error(model).find("node \"inner\" (Add) in function F: its input 1 (\"x\") is defined "
                              "nowhere before it"),
            std::string::npos)
      << error(model);
}

TEST(OnnxFunctions, AreCalledByFunctions) {
  OnnxModel model = model_of({onnx_node("Outer", {"x"}, {"y"}, local())});
  model.function(local() + "name: 'Outer' input: 'a' output: 'r'" + kOpset +
                     "opset_import { domain: 'local' version: 1 }",
                 {onnx_node("Inner", {"a"}, {"t"}, local()),
                  onnx_node("Inner", {"t"}, {"u"}, local()), onnx_node("Add", {"u", "a"}, {"r"})});
  model.function(local() + "name: 'Inner' input: 'a' output: 'r'" + kOpset,
                 {onnx_node("Mul", {"a", "a"}, {"r"})});
  EXPECT_EQ(run(model), (Numbers{81 - 3, 256 + 4}));
}

TEST(OnnxFunctions, ReferencesToAttributesGoThroughEveryCall) {
  // Outer(slope) -> Inner(alpha) -> LeakyRelu(alpha)
  const auto with = [](const std::string& attributes) {
    OnnxModel model = model_of({onnx_node("Outer", {"x"}, {"y"}, local() + attributes)});
    model.function(local() + "name: 'Outer' attribute: 'slope' input: 'a' output: 'r'" + kOpset,
                   {onnx_node("Inner", {"a"}, {"r"}, local() + reference("alpha", "slope"))});
    model.function(
        local() + "name: 'Inner' input: 'a' output: 'r'" + kOpset + with_default("alpha", "f: 2"),
        {onnx_node("LeakyRelu", {"a"}, {"r"}, reference("alpha", "alpha"))});
    return model;
  };
  EXPECT_EQ(run(with("attribute { name: 'slope' f: 0.5 }")), (Numbers{-1.5, 4}));
  // Not given: Inner's own default. Given to nobody: the op's, 0.01.
  EXPECT_EQ(run(with("")), (Numbers{-6, 4}));
}

TEST(OnnxFunctions, AttributesWithoutAValueAreAbsent) {
  OnnxModel model = model_of({onnx_node("F", {"x"}, {"y"}, local())});
  model.function(local() + "name: 'F' attribute: 'alpha' input: 'a' output: 'r'" + kOpset,
                 {onnx_node("LeakyRelu", {"a"}, {"r"}, reference("alpha", "alpha"))});
  EXPECT_FLOAT_EQ(static_cast<float>(run(model)[0]), -0.03F);
}

TEST(OnnxFunctions, BranchesInsideSeeItsNamesAndAttributes) {
  const auto with = [](int64_t then) {
    OnnxModel model = model_of(
        {onnx_node("F", {"x"}, {"y"},
                   local() + integer_attribute("value", then) + integer_attribute("pick", 1))});
    onnx::NodeProto branch = onnx_node("If", {"c"}, {"r"});
    for (const char* name : {"then_branch", "else_branch"}) {
      auto& attribute = *branch.add_attribute();
      attribute.set_name(name);
      onnx::GraphProto& graph = *attribute.mutable_g();
      *graph.add_node() = onnx_node("Constant", {}, {"k"}, reference("value_int", "value"));
      *graph.add_node() = onnx_node("Cast", {"k"}, {"f"}, integer_attribute("to", 1));
      *graph.add_node() =
          onnx_node(name == std::string("then_branch") ? "Mul" : "Add", {"t", "f"}, {"o"});
      graph.add_output()->set_name("o");
    }
    model.function(local() +
                       "name: 'F' attribute: 'value' attribute: 'pick' input: 'a' "
                       "output: 'r'" +
                       kOpset,
                   {onnx_node("Neg", {"a"}, {"t"}),
                    onnx_node("Constant", {}, {"i"}, reference("value_int", "pick")),
                    onnx_node("Cast", {"i"}, {"c"}, integer_attribute("to", 9)), branch});
    return model;
  };
  EXPECT_EQ(run(with(5)), (Numbers{15, -20}));
}

TEST(OnnxFunctions, UseTheOperatorSetTheyNameThemselves) {
  // Before opset 13 the axes of Squeeze were an attribute.
  OnnxModel model = model_of({onnx_node("F", {"x"}, {"y"}, local())});
  model.function(
      local() + "name: 'F' input: 'a' output: 'r' opset_import { version: 11 }",
      {onnx_node("Unsqueeze", {"a"}, {"t"}, "attribute { name: 'axes' ints: 0 ints: 2 }"),
       onnx_node("Squeeze", {"t"}, {"r"}, "attribute { name: 'axes' ints: 0 ints: 2 }")});
  EXPECT_EQ(run(model), (Numbers{-3, 4}));
}

TEST(OnnxFunctions, InputsAndOutputsMayBeLeftOut) {
  OnnxModel model = model_of({onnx_node("F", {"x"}, {"", "y"}, local())});
  model.function(local() + "name: 'F' input: 'a' input: 'high' output: 'n' output: 'r'" + kOpset,
                 {onnx_node("Neg", {"a"}, {"n"}), onnx_node("Clip", {"a", "", "high"}, {"r"})});
  EXPECT_EQ(run(model), (Numbers{-3, 4}));
}

TEST(OnnxFunctions, OverloadsAreToldApart) {
  OnnxModel model = model_of({onnx_node("F", {"x"}, {"t"}, local() + "overload: 'abs'"),
                              onnx_node("F", {"t"}, {"y"}, local() + "overload: 'neg'")});
  model.function(local() + "name: 'F' overload: 'neg' input: 'a' output: 'r'" + kOpset,
                 {onnx_node("Neg", {"a"}, {"r"})});
  model.function(local() + "name: 'F' overload: 'abs' input: 'a' output: 'r'" + kOpset,
                 {onnx_node("Abs", {"a"}, {"r"})});
  EXPECT_EQ(run(model), (Numbers{-3, -4}));
}

TEST(OnnxFunctions, OfTheModelComeBeforeOpsOfTheSameName) {
  OnnxModel model = model_of({onnx_node("Neg", {"x"}, {"y"})});
  model.function(std::string("name: 'Neg' input: 'a' output: 'r'") + kOpset,
                 {onnx_node("Add", {"a", "a"}, {"r"})});
  EXPECT_EQ(run(model), (Numbers{-6, 8}));
}

TEST(OnnxFunctions, ThatCallThemselvesAreRefused) {
  OnnxModel model = model_of({onnx_node("F", {"x"}, {"y"}, local())});
  model.function(local() + "name: 'F' input: 'a' output: 'r'" + kOpset,
                 {onnx_node("F", {"a"}, {"r"}, local())});
  EXPECT_NE(error(model).find("nested more than 64 deep"), std::string::npos) << error(model);
  EXPECT_NE(error(model).find("a function may not call itself"), std::string::npos);
}

TEST(OnnxFunctions, UnknownOpsInsideAreListedWithThoseOutside) {
  OnnxModel model = model_of({onnx_node("F", {"x"}, {"t"}, local()),
                              onnx_node("Nothing", {"t"}, {"y"}, "name: 'outside'")});
  model.function(local() + "name: 'F' input: 'a' output: 'r'" + kOpset,
                 {onnx_node("Something", {"a"}, {"r"}, "name: 'inside' domain: 'other'")});
  EXPECT_NE(error(model).find("2 kinds of op are not supported:\n"
                              "  Nothing (1x, first node \"outside\")\n"
                              "  other:Something (1x, first node \"inside\")"),
            std::string::npos)
      << error(model);
}

TEST(OnnxFunctions, OutputsThatNothingDefinesAreAnError) {
  OnnxModel model = model_of({onnx_node("F", {"x"}, {"y"}, local())});
  model.function(local() + "name: 'F' input: 'a' output: 'r'" + kOpset,
                 {onnx_node("Neg", {"a"}, {"s"})});
  EXPECT_NE(error(model).find("output \"r\" of function F is defined nowhere"), std::string::npos)
      << error(model);
}

}  // namespace
}  // namespace spmd::onnx_functions_test
