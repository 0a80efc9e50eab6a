// Dimensions that a model leaves open, and the sizes that the user gives them.
#include <gtest/gtest.h>

#include "frontends/import_options.h"
#include "tests/support/error_of.h"
#include "tests/support/onnx_model.h"

namespace spmd::onnx_dims_test {
namespace {

using testing::numbers;
using testing::OnnxModel;

ImportOptions dims(const std::vector<std::string>& texts) {
  return parse_import_options(texts, {});
}
std::string types(const Module& module) {
  std::string text;
  for (ValueId argument : module.main().arguments()) {
    text += to_string(module.main().type(argument)) + " ";
  }
  text += "->";
  for (ValueId value : module.main().results()) text += " " + to_string(module.main().type(value));
  return text;
}
void expect_dims_error(const OnnxModel& model, const std::vector<std::string>& texts,
                       const std::string& expected) {
  EXPECT_EQ(testing::error_of([&] { model.import(dims(texts)); }), expected);
}

// x [batch, 3] and y [batch, width], joined.
OnnxModel joined() {
  OnnxModel model;
  model.input("x", {"batch", "3"}).input("y", {"batch", "width"}).output("z");
  model.node("Concat", {"x", "y"}, {"z"}, testing::integer_attribute("axis", 1));
  return model;
}

TEST(OnnxDims, OfOneNameGetOneSizeEverywhere) {
  EXPECT_EQ(types(joined().import(dims({"batch=4", "width=2"}))),
            "tensor<4x3xf32> tensor<4x2xf32> -> tensor<4x5xf32>");
  EXPECT_EQ(types(joined().import(dims({"batch=0", "width=1"}))),
            "tensor<0x3xf32> tensor<0x1xf32> -> tensor<0x4xf32>");
}

TEST(OnnxDims, AreGivenByTheShapeOfAnInputToo) {
  EXPECT_EQ(types(joined().import(dims({"y=[4,2]"}))),
            "tensor<4x3xf32> tensor<4x2xf32> -> tensor<4x5xf32>");
}

TEST(OnnxDims, WithoutASizeAreListedTogetherWithTheRemedy) {
  expect_dims_error(joined(), {},
                    "model: 2 dimensions have no size: batch, width\n"
                    "  give every one a size: --set-dim 'batch=SIZE' --set-dim 'width=SIZE'");
  expect_dims_error(joined(), {"width=2"},
                    "model: 1 dimension has no size: batch\n"
                    "  give every one a size: --set-dim 'batch=SIZE'");
}

TEST(OnnxDims, WithoutANameAreNamedByInputAndAxis) {
  OnnxModel model;
  model.input("x", {"", "3"}).output("y").node("Neg", {"x"}, {"y"});
  expect_dims_error(model, {},
                    "model: 1 dimension has no size: x[0]\n"
                    "  give every one a size: --set-dim 'x[0]=SIZE'");
  EXPECT_EQ(types(model.import(dims({"x[0]=7"}))), "tensor<7x3xf32> -> tensor<7x3xf32>");
}

TEST(OnnxDims, ThatTheModelDoesNotHaveAreMisspelt) {
  expect_dims_error(joined(), {"batch=4", "widht=2"},
                    "model: 1 dimension has no size: width\n"
                    "  give every one a size: --set-dim 'width=SIZE'");
  expect_dims_error(joined(), {"batch=4", "width=2", "batsh=4"},
                    "model: has no dimension batsh\n  did you mean batch?");
  expect_dims_error(joined(), {"batch=4", "width=2", "xx=[4,2]"},
                    "model: has no input xx\n  did you mean x?");
}

TEST(OnnxDims, ThatContradictTheModelAreRefused) {
  expect_dims_error(joined(), {"width=2", "x=[4,5]"},
                    "model: input \"x\": has another shape in the model than the one given for it\n"
                    "  give it a shape that fits");
  expect_dims_error(joined(), {"width=2", "x=[4]"},
                    "model: input \"x\": has 2 dimensions, the shape given for it 1");
}

TEST(OnnxDims, SayWhatIsWrongWithTheirText) {
  const auto error = [](const std::string& text) {
    return testing::error_of([&] { dims({text}); });
  };
  EXPECT_EQ(error("batch"),
            "--set-dim batch: expected NAME=VALUE\n"
            "  for example: --set-dim batch=8");
  EXPECT_NE(error("batch=-1").find("expected a size, or a list of sizes, of 0 or more"),
            std::string::npos);
  EXPECT_NE(error("batch=2.5").find("expected a size"), std::string::npos);
  EXPECT_NE(error("batch=x").find("is no number"), std::string::npos);
}

// What exporters write for x.reshape(x.shape[0], -1) and x.expand(2 * n, ...).
TEST(OnnxDims, FlowThroughComputationsWithShapes) {
  OnnxModel model;
  model.input("x", {"n", "2", "3"}).output("flat").output("tall");
  model.node("Shape", {"x"}, {"s"})
      .node("Constant", {}, {"zero"}, testing::integers_attribute("value_ints", {0}))
      .node("Constant", {}, {"rest"}, testing::integers_attribute("value_ints", {-1}))
      .node("Constant", {}, {"two"}, testing::integers_attribute("value_ints", {2}))
      .node("Gather", {"s", "zero"}, {"n"})
      .node("Concat", {"n", "rest"}, {"to"}, testing::integer_attribute("axis", 0))
      .node("Reshape", {"x", "to"}, {"flat"})
      .node("Mul", {"n", "two"}, {"nn"})
      .node("ConstantOfShape", {"nn"}, {"tall"});
  const Module module = model.import(dims({"n=5"}));
  EXPECT_EQ(types(module), "tensor<5x2x3xf32> -> tensor<5x6xf32> tensor<10xf32>");
  const Function& main = module.main();
  for_each_op(main, main.body(), [&](OpId op) {
    const OpCode code = main.op(op).code;
    EXPECT_TRUE(code == OpCode::kReshape || code == OpCode::kConstant || code == OpCode::kReturn)
        << name_of(code);
  });
}

TEST(OnnxDims, OfSequencesAndOptionalsAreTheirLengths) {
  OnnxModel model;
  auto& info = *model.graph().add_input();
  info = testing::onnx_text<onnx::ValueInfoProto>(
      "name: 'xs' type { sequence_type { elem_type { tensor_type { elem_type: 1 "
      "shape { dim { dim_param: 'n' } } } } } }");
  model.output("y").node("ConcatFromSequence", {"xs"}, {"y"},
                         testing::integer_attribute("axis", 0));
  EXPECT_EQ(types(model.import(dims({"xs[]=2", "n=3"}))),
            "tensor<3xf32> tensor<3xf32> -> tensor<6xf32>");
}

}  // namespace
}  // namespace spmd::onnx_dims_test
