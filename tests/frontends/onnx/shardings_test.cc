// Shardings as ONNX annotates them: the device configurations of a model's nodes.
#include <gtest/gtest.h>

#include "sharding/spec/sharding_text.h"
#include "tests/support/error_of.h"
#include "tests/support/onnx_model.h"

namespace spmd::onnx_shardings_test {
namespace {

using testing::onnx_node;
using testing::OnnxModel;

// One sharded dimension of `axis`.
std::string dim(int axis, int shards) {
  return "sharded_dim { axis: " + std::to_string(axis) +
         " simple_sharding { num_shards: " + std::to_string(shards) + " } } ";
}
std::string spec(const std::string& tensor, const std::vector<int>& devices,
                 const std::string& dims) {
  std::string text = "sharding_spec { tensor_name: '" + tensor + "' ";
  for (int device : devices) text += "device: " + std::to_string(device) + " ";
  return text + dims + "} ";
}
std::string placed(const std::string& specs, const std::string& configuration = "c") {
  return "device_configurations { configuration_id: '" + configuration + "' " + specs + "} ";
}

// y = -x with the node's placement.
OnnxModel negated(const std::vector<std::string>& dims, const std::string& fields,
                  int num_devices = 2) {
  OnnxModel model;
  model.input("x", dims).output("y").node("Neg", {"x"}, {"y"}, "name: 'n' " + fields);
  auto& configuration = *model.proto().add_configuration();
  configuration.set_name("c");
  configuration.set_num_devices(num_devices);
  return model;
}

std::string sharding_of(const Module& module, ValueId value) {
  const ShardingRef& sharding = module.main().value(value).sharding;
  return sharding ? sharding->to_string(module.mesh) : "none";
}
std::string argument(const Module& module, size_t i = 0) {
  return sharding_of(module, module.main().arguments()[i]);
}
std::string result(const Module& module) { return sharding_of(module, module.main().results()[0]); }

void expect_sharding_error(const OnnxModel& model, const std::string& part) {
  const std::string found = testing::error_of([&] { model.import(); });
  EXPECT_NE(found.find(part), std::string::npos) << found;
}

TEST(OnnxShardings, OfInputsAndOutputsBecomeAxes) {
  const Module module =
      negated({"4", "6"}, placed(spec("x", {0, 1}, dim(0, 2)) + spec("y", {0, 1}, dim(-1, 2))))
          .import();
  EXPECT_EQ(mesh_text(module.mesh), R"(<["axis_0"=2]>)");
  EXPECT_EQ(argument(module), R"([{"axis_0"}, {}])");
  EXPECT_EQ(result(module), R"([{}, {"axis_0"}])");
}

TEST(OnnxShardings, OfTwoDimensionsAreAGrid) {
  const Module module =
      negated({"4", "6"}, placed(spec("x", {0, 1, 2, 3, 4, 5}, dim(0, 2) + dim(1, 3))), 6).import();
  EXPECT_EQ(mesh_text(module.mesh), R"(<["axis_0"=2, "axis_1"=3]>)");
  EXPECT_EQ(argument(module), R"([{"axis_0"}, {"axis_1"}])");
}

TEST(OnnxShardings, MayBeUneven) {
  // Five rows over two devices: three and two. One row over two: the second has none.
  for (const char* rows : {"5", "1"}) {
    const OnnxModel model = negated({rows, "2"}, placed(spec("x", {0, 1}, dim(0, 2))));
    EXPECT_EQ(argument(model.import()), R"([{"axis_0"}, {}])");
  }
}

TEST(OnnxShardings, GroupsOfDevicesHoldTheSameShard) {
  const std::string groups =
      "index_to_device_group_map { key: 0 value: 0 value: 1 } "
      "index_to_device_group_map { key: 1 value: 2 value: 3 } ";
  const Module module = negated({"4"}, placed(spec("x", {0, 1}, groups + dim(0, 2))), 4).import();
  EXPECT_EQ(mesh_text(module.mesh), R"(<["axis_0"=2, "axis_1"=2]>)");
  EXPECT_EQ(argument(module), R"([{"axis_0"}])");
}

TEST(OnnxShardings, OfSeveralMeshesStandOnOne) {
  // Rows over all four devices, and a grid of two by two.
  const Module module = negated({"4", "4"},
                                placed(spec("x", {0, 1, 2, 3}, dim(0, 4)) +
                                       spec("y", {0, 1, 2, 3}, dim(0, 2) + dim(1, 2))),
                                4)
                            .import();
  EXPECT_EQ(mesh_text(module.mesh), R"(<["axis_0"=2, "axis_1"=2]>)");
  EXPECT_EQ(argument(module), R"([{"axis_0", "axis_1"}, {}])");
  EXPECT_EQ(result(module), R"([{"axis_0"}, {"axis_1"}])");
}

TEST(OnnxShardings, OfOtherConfigurationsAreForOtherRuns) {
  OnnxModel model = negated({"4"}, placed(spec("x", {0, 1}, dim(0, 2))) +
                                       placed(spec("x", {0, 1, 2, 3}, dim(0, 4)), "large"));
  auto& large = *model.proto().add_configuration();
  large.set_name("large");
  large.set_num_devices(4);
  const Module module = model.import();
  EXPECT_EQ(module.mesh.num_devices(), 2);
  EXPECT_EQ(argument(module), R"([{"axis_0"}])");
}

TEST(OnnxShardings, OfALaterNodeMoveTheTensor) {
  OnnxModel model = negated({"4", "4"}, placed(spec("x", {0, 1}, dim(0, 2))));
  model.output("z").node("Abs", {"x"}, {"z"}, placed(spec("x", {0, 1}, dim(1, 2))));
  const Module module = model.import();
  EXPECT_EQ(argument(module), R"([{"axis_0"}, {}])");
  const Op& abs = *module.main().def(module.main().results()[1]);
  const Op& moved = *module.main().def(abs.operands[0]);
  ASSERT_EQ(moved.code, OpCode::kShardingConstraint);
  EXPECT_EQ(moved.as<ReshardAttrs>().sharding.to_string(module.mesh), R"([{}, {"axis_0"}])");
}

TEST(OnnxShardings, InFunctionsAreThoseOfTheirNodes) {
  OnnxModel model = negated({"4"}, "domain: 'local'");
  model.import_domain("local", 1)
      .function("name: 'Neg' domain: 'local' input: 'a' output: 'b' opset_import { version: 21 }",
                {onnx_node("Abs", {"a"}, {"b"}, placed(spec("b", {0, 1}, dim(0, 2))))});
  EXPECT_EQ(result(model.import()), R"([{"axis_0"}])");
}

// A branch alone may be what says how many devices there are.
TEST(OnnxShardings, InBranchesTakePartInFindingTheMesh) {
  OnnxModel model = negated({"4"}, "");
  onnx::NodeProto branch = onnx_node("If", {"c"}, {"z"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& attribute = *branch.add_attribute();
    attribute.set_name(name);
    *attribute.mutable_g()->add_node() =
        onnx_node("Abs", {"y"}, {"o"}, placed(spec("o", {0, 1}, dim(0, 2))));
    attribute.mutable_g()->add_output()->set_name("o");
  }
  model.input("c", {}, onnx::TensorProto::BOOL).output("z");
  *model.graph().add_node() = branch;
  EXPECT_EQ(mesh_text(model.import().mesh), R"(<["axis_0"=2]>)");
}

TEST(OnnxShardings, ThatCannotBeAreRefusedWithTheirPlace) {
  expect_sharding_error(
      negated({"4"}, placed(spec("x", {0, 1}, dim(0, 3)))),
      "model: node \"n\": sharding of \"x\": a sharding has 3 shards for 2 devices or "
      "groups of devices");
  expect_sharding_error(negated({"4"}, placed(spec("x", {0, 1}, dim(1, 2)))),
                        "axis 1 of a sharding is out of range for rank 1");
  expect_sharding_error(negated({"4"}, placed(spec("x", {0, 1}, dim(-2, 2)))),
                        "axis -2 of a sharding is out of range for rank 1");
  expect_sharding_error(negated({"4"}, placed(spec("x", {0, 0}, dim(0, 2)))), "sharding of \"x\"");
  expect_sharding_error(negated({"4"}, placed(spec("x", {0, 1}, dim(0, 0)))),
                        "a number of shards of 0");
  expect_sharding_error(negated({"4"}, placed(spec("x", {0, 1}, dim(0, 2000000)))),
                        "a number of shards of 0");
  expect_sharding_error(
      negated({"4"},
              placed(spec("x", {0, 1},
                          "index_to_device_group_map { key: 0 value: 0 value: 2 } " + dim(0, 2))),
              3),
      "the shards of a tensor lie on different numbers of devices");
  expect_sharding_error(
      negated({"4"}, placed(spec("x", {0, 1}, dim(0, 2)) + spec("y", {0, 1, 2}, dim(0, 3)))),
      "shard every tensor over all devices of its configuration");
}

TEST(OnnxShardings, CutAFusedDimensionIntoBlocksOnly) {
  const auto parts = [](int64_t major, int shards_of_major, int shards_of_minor) {
    return "sharded_dim { axis: 0 simple_sharding { dim_value: " + std::to_string(major) +
           " num_shards: " + std::to_string(shards_of_major) +
           " } simple_sharding { dim_value: 4 num_shards: " + std::to_string(shards_of_minor) +
           " } } ";
  };
  const std::vector<int> four = {0, 1, 2, 3};
  const Module module = negated({"8"}, placed(spec("x", four, parts(2, 2, 2))), 4).import();
  EXPECT_EQ(argument(module), R"([{"axis_0"}])");
  // Halves of four, and of each the halves of its minor part: not one block a device.
  expect_sharding_error(negated({"16"}, placed(spec("x", four, parts(4, 2, 2))), 4),
                        "cuts an axis into parts that are not blocks");
}

}  // namespace
}  // namespace spmd::onnx_shardings_test
