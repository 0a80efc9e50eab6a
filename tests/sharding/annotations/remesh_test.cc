#include "sharding/annotations/remesh.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "support/error.h"
#include "tests/support/error_of.h"

namespace spmd {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

constexpr int kData = 0, kModel = 1;

// One parameter "w" over data=2,model=4, sharded along its only dimension.
Module program(const AxisList& axes) {
  Module module;
  module.source = "model.mlir";
  module.mesh = parse_mesh("data=2,model=4");
  Function& fn = module.function(module.add_function("main"));
  Sharding sharding = Sharding::replicate(1);
  sharding.dims[0].axes = axes;
  fn.add_block_argument(fn.body(), {DType::kF32, {16}}, std::make_shared<const Sharding>(sharding));
  fn.argument_info.push_back({"w"});
  fn.result_info.resize(1);
  Builder builder(fn, fn.body());
  builder.location = std::make_shared<const Location>(Location{"step", "train.py", 7});
  builder.return_op({builder.value(OpCode::kReshard, {fn.arguments()[0]}, ReshardAttrs{sharding})});
  return module;
}

std::string remesh_error(Module& module, const std::string& mesh) {
  return testing::error_of([&] { set_mesh(module, parse_mesh(mesh)); });
}

TEST(SetMesh, SizesChange) {
  Module module = program({{kModel, 1, 0}});
  set_mesh(module, parse_mesh("data=1,model=3"));
  EXPECT_EQ(module.mesh.to_string(), "data=1,model=3");
}

TEST(SetMesh, AxesGoByName) {
  Module module = program({{kModel, 1, 0}, {kData, 1, 0}});
  set_mesh(module, parse_mesh("model=2,stage=3,data=8"));
  Function& fn = module.main();
  EXPECT_EQ(fn.value(fn.arguments()[0]).sharding->to_string(module.mesh), R"([{"model", "data"}])");
  EXPECT_EQ(fn.op(fn.block(fn.body()).first).as<ReshardAttrs>().sharding.to_string(module.mesh),
            R"([{"model", "data"}])");
}

TEST(SetMesh, KeepsDeviceOrderOfAnEqualMesh) {
  Module module = program({{kModel, 1, 0}});
  const Mesh mesh({{"data", 2}, {"model", 4}}, {7, 6, 5, 4, 3, 2, 1, 0});
  module.mesh = mesh;
  set_mesh(module, parse_mesh("data=2,model=4"));
  EXPECT_EQ(module.mesh, mesh);
}

TEST(SetMesh, ModuleWithoutMesh) {
  Module module;
  module.function(module.add_function("main"));
  set_mesh(module, parse_mesh("data=2"));
  EXPECT_EQ(module.mesh.to_string(), "data=2");
}

TEST(SetMesh, MissingAxis) {
  Module module = program({{kModel, 1, 0}});
  const std::string error = remesh_error(module, "data=4");
  EXPECT_HAS(error, "--mesh: the mesh data=4 has no axis \"model\"");
  EXPECT_HAS(error, "model.mlir");
  EXPECT_EQ(module.mesh.to_string(), "data=2,model=4");
}

TEST(SetMesh, SubAxes) {
  Module module = program({{kModel, 2, 2}});
  EXPECT_HAS(remesh_error(module, "data=2,model=6"),
             "parameter \"w\": the sub-axis \"model\":(2)2 does not divide the size 6");
  set_mesh(module, parse_mesh("data=2,model=8"));
  Module whole = program({{kModel, 1, 2}});
  set_mesh(whole, parse_mesh("data=2,model=2"));
  const Function& fn = whole.main();
  EXPECT_TRUE(fn.value(fn.arguments()[0]).sharding->axes(0)[0].is_full());
}

TEST(SetMesh, ManualAxesFixTheSize) {
  Module module = program({{kModel, 1, 0}});
  Function& fn = module.main();
  Builder builder = Builder::before(fn, fn.terminator(fn.body()));
  builder.location = std::make_shared<const Location>(Location{"shard_map", "ring.py", 3});
  ManualComputationAttrs attrs;
  attrs.in_shardings = attrs.out_shardings = {*fn.value(fn.arguments()[0]).sharding};
  attrs.manual_axes = {{kModel, 1, 0}};
  const OpId op =
      builder.create(OpCode::kManualComputation, {fn.arguments()[0]}, {{DType::kF32, {16}}}, attrs);
  const BlockId body = fn.add_region(op);
  const ValueId argument = fn.add_block_argument(body, {DType::kF32, {4}});
  Builder(fn, body).return_op({argument});
  const std::string error = remesh_error(module, "data=2,model=2");
  EXPECT_HAS(error, "ring.py:3");
  EXPECT_HAS(error, "its manual axes fix the size, model=4 in model.mlir, model=2 in --mesh");
  EXPECT_HAS(error, "run it with model=4");
  set_mesh(module, parse_mesh("model=4,data=3"));
  EXPECT_EQ(fn.op(op).as<ManualComputationAttrs>().manual_axes[0].axis, 0);
}

}  // namespace
}  // namespace spmd
