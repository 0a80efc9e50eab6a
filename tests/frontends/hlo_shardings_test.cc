// Shardings of an HloModuleProto, in all their forms.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/frontends/hlo_text.h"

namespace spmd {
namespace {

const std::string kShape = "shape { element_type: F32 dimensions: 8 dimensions: 8 } ";

// A parameter with these fields, negated.
Module with_parameter(const std::string& annotation, const std::string& fields = {}) {
  return import_hlo(
      hlo_module("instructions { name: 'x.1' opcode: 'parameter' id: 1 " + kShape + annotation +
                     "} instructions { name: 'n' opcode: 'negate' id: 2 "
                     "operand_ids: 1 " +
                     kShape + "}",
                 2, {}, fields),
      "test.pb");
}

std::string argument_sharding(const Module& module) {
  const Function& main = module.main();
  const ShardingRef& sharding = main.value(main.arguments()[0]).sharding;
  return sharding ? sharding->to_string(module.mesh) : "none";
}

std::string sdy(const std::string& sharding) {
  return "frontend_attributes { map { key: 'xla.sdy.sharding' value: '" + sharding + "' } } ";
}

const std::string kMeshes =
    "frontend_attributes { map { key: 'xla.sdy.meshes' value: "
    "'{mesh = #sdy.mesh<[\"a\"=2, \"b\"=4]>}' } }";

TEST(HloShardings, SdyAttributesAreExact) {
  const Module module = with_parameter(
      sdy("#sdy.sharding<@mesh, [{\"a\", ?}p1, {\"b\":(1)2}], replicated={\"b\":(2)2}>"), kMeshes);
  EXPECT_EQ(module.mesh.to_string(), "a=2,b=4");
  EXPECT_EQ(argument_sharding(module), "[{\"a\", ?}p1, {\"b\":(1)2}], replicated={\"b\":(2)2}");
}

TEST(HloShardings, MaximalIsReadAsReplicatedAndSaidOnce) {
  const std::string meshes =
      "frontend_attributes { map { key: 'xla.sdy.meshes' value: "
      "'{max = #sdy.mesh<[], device_ids=[3]>, mesh = #sdy.mesh<[\"a\"=4]>}' } }";
  for (const Module& module :
       {with_parameter(sdy("#sdy.sharding<@max, []>"), meshes),
        with_parameter("sharding { type: MAXIMAL tile_assignment_devices: [3] } ")}) {
    EXPECT_EQ(argument_sharding(module), "[{}, {}]");
    ASSERT_EQ(module.notes().size(), 1U);
    EXPECT_NE(module.notes()[0].place.find("x.1"), std::string::npos) << module.notes()[0].place;
    EXPECT_NE(module.notes()[0].text.find("read as replicated"), std::string::npos);
  }
}

TEST(HloShardings, QuotesMayBeEscapedTwice) {
  const Module module =
      with_parameter(sdy("#sdy.sharding<@mesh, [{\\\\22b\\\\22}, {}]>"),
                     "frontend_attributes { map { key: 'xla.sdy.meshes' value: "
                     "'{mesh = #sdy.mesh<[\\\\22a\\\\22=2, \\\\22b\\\\22=4]>}' } }");
  EXPECT_EQ(argument_sharding(module), "[{\"b\"}, {}]");
}

TEST(HloShardings, TilesV1V2AndNamedAgree) {
  // Rows over the second axis, columns over none, of a mesh 2 x 4.
  const std::string v1 =
      "sharding { type: OTHER tile_assignment_dimensions: [4, 1, 2] "
      "tile_assignment_devices: [0, 4, 1, 5, 2, 6, 3, 7] replicate_on_last_tile_dim: true } ";
  const std::string v2 =
      "sharding { type: OTHER tile_assignment_dimensions: [4, 1, 2] iota_reshape_dims: [2, 4] "
      "iota_transpose_perm: [1, 0] last_tile_dims: REPLICATED } ";
  for (const std::string& tiles : {v1, v2}) {
    const Module module = with_parameter(tiles);
    EXPECT_EQ(module.mesh.to_string(), "axis_0=2,axis_1=4");
    EXPECT_EQ(argument_sharding(module), "[{\"axis_1\"}, {}]");
  }
  const Module named = with_parameter(
      "sharding { named_sharding { mesh { axes { name: 'a' size: 2 } axes { name: 'b' size: 4 } } "
      "dim_shardings { axes { mesh_axis_index: 1 } is_closed: true } dim_shardings { } } } ");
  EXPECT_EQ(named.mesh.to_string(), "a=2,b=4");
  EXPECT_EQ(argument_sharding(named), "[{\"b\"}, {?}]");
}

TEST(HloShardings, ConstraintsMayLeaveDimensionsOpen) {
  const std::string constraint =
      "} instructions { name: 'c' opcode: 'custom-call' id: 2 operand_ids: 1 "
      "custom_call_target: 'Sharding' backend_config: 'unspecified_dims=[1]' " +
      kShape + "sharding { type: OTHER tile_assignment_dimensions: [8, 1] } }";
  const Module module = import_hlo(
      hlo_module("instructions { name: 'x' opcode: 'parameter' id: 1 " + kShape + constraint, 2),
      "test.pb");
  const std::string text = print_stablehlo(module);
  EXPECT_NE(text.find("sdy.sharding_constraint %arg0 <@mesh, [{\"axis_0\"}, {?}]>"), text.npos)
      << text;
}

TEST(HloShardings, ResultsTakeTheirMarkersOrTheRootsSharding) {
  const std::string marked =
      "instructions { name: 'x' opcode: 'parameter' id: 1 " + kShape +
      "} instructions { name: 'r' opcode: 'custom-call' id: 2 operand_ids: 1 "
      "custom_call_target: 'xla.sdy.FuncResultSharding' " +
      kShape + sdy("#sdy.sharding_per_value<[<@mesh, [{}, {\"b\"}]>]>") +
      "} instructions { name: 's' opcode: 'reshape' id: 3 operand_ids: 2 " + kShape + "}";
  const Module module = import_hlo(hlo_module(marked, 3, {}, kMeshes), "test.pb");
  EXPECT_EQ(module.main().result_info[0].sharding->to_string(module.mesh), "[{}, {\"b\"}]");
  EXPECT_EQ(module.main().num_live_ops(), 1u);

  const Module tiled = import_hlo(
      hlo_module("instructions { name: 'x' opcode: 'parameter' id: 1 " + kShape +
                     "} instructions { name: 'n' opcode: 'negate' id: 2 operand_ids: 1 " + kShape +
                     "sharding { type: OTHER tile_assignment_dimensions: [1, 4] } }",
                 2),
      "test.pb");
  EXPECT_EQ(tiled.main().result_info[0].sharding->to_string(tiled.mesh), "[{}, {\"axis_0\"}]");
}

TEST(HloShardings, ShardingsThatDoNotFitAreRefused) {
  const auto error = [](const std::string& annotation, const std::string& fields = {}) {
    try {
      with_parameter(annotation, fields);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(error(sdy("#sdy.sharding<@mesh, [{\"c\"}, {}]>"), kMeshes).find("test.pb"),
            std::string::npos);
  EXPECT_NE(error(sdy("#sdy.sharding<@other, [{}, {}]>"), kMeshes).find("other"),
            std::string::npos);
  EXPECT_NE(error("sharding { type: OTHER tile_assignment_dimensions: [2, 2] "
                  "tile_assignment_devices: [0, 0, 1, 2] } ")
                .find("test.pb"),
            std::string::npos);
}

const std::string kLocal = "shape { element_type: F32 dimensions: 4 dimensions: 8 } ";

TEST(HloShardings, SdyManualRegionsBecomeManualComputations) {
  const std::string body =
      "computations { name: 'xla.sdy.manual_computation_body' id: 1 root_id: 2 "
      "instructions { name: 'a' opcode: 'parameter' id: 1 " +
      kLocal +
      "} instructions { name: 'n' opcode: 'all-reduce' id: 2 operand_ids: 1 channel_id: 1 "
      "use_global_device_ids: true called_computation_ids: 8 mesh_axes_replica_group_list { mesh { "
      "axes { name: 'a' size: 2 } axes { name: 'b' size: 4 } } axes { } } " +
      kLocal + "} }";
  const std::string sum =
      "computations { name: 'sum' id: 8 root_id: 3 instructions { name: 'a' opcode: 'parameter' "
      "shape { element_type: F32 } id: 1 } instructions { name: 'b' opcode: 'parameter' shape { "
      "element_type: F32 } id: 2 parameter_number: 1 } instructions { name: 'c' opcode: 'add' "
      "shape { element_type: F32 } id: 3 operand_ids: 1 operand_ids: 2 } }";
  const auto attribute = [](const char* key, const char* value) {
    return std::string("map { key: '") + key + "' value: '" + value + "' } ";
  };
  const std::string main =
      "instructions { name: 'x' opcode: 'parameter' id: 1 " + kShape +
      "} instructions { name: 'g' opcode: 'custom-call' id: 2 operand_ids: 1 custom_call_target: "
      "'xla.sdy.GlobalToLocalShape' " +
      kLocal + "frontend_attributes { " +
      attribute("xla.sdy.in_shardings", "#sdy.sharding_per_value<[<@mesh, [{\"a\"}, {}]>]>") +
      attribute("xla.sdy.manual_axes", "#sdy<manual_axes{\"a\"}>") +
      "} } instructions { name: 'c' opcode: 'call' id: 3 operand_ids: 2 called_computation_ids: "
      "1 " +
      kLocal +
      "} instructions { name: 'l' opcode: 'custom-call' id: 4 operand_ids: 3 custom_call_target: "
      "'xla.sdy.LocalToGlobalShape' " +
      kLocal + "frontend_attributes { " +
      attribute("xla.sdy.out_shardings", "#sdy.sharding_per_value<[<@mesh, [{}, {}]>]>") +
      attribute("xla.sdy.manual_axes", "#sdy<manual_axes{\"a\"}>") + "} }";
  const std::string text =
      print_stablehlo(import_hlo(hlo_module(main, 4, sum + body, kMeshes), "test.pb"));
  EXPECT_NE(text.find("sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{\"a\"}, {}]>] "
                      "out_shardings=[<@mesh, [{}, {}]>] manual_axes={\"a\"}"),
            text.npos)
      << text;
  EXPECT_NE(text.find("stablehlo.all_reduce"), text.npos) << text;
}

TEST(HloShardings, SpmdManualRegionsBecomeManualComputations) {
  const std::string split = "sharding { type: OTHER tile_assignment_dimensions: [2, 1] } ";
  const std::string main =
      "instructions { name: 'x' opcode: 'parameter' id: 1 " + kShape +
      "} instructions { name: 's' opcode: 'custom-call' id: 2 operand_ids: 1 custom_call_target: "
      "'Sharding' " +
      kShape + split +
      "} instructions { name: 'f' opcode: 'custom-call' id: 3 operand_ids: 2 custom_call_target: "
      "'SPMDFullToShardShape' sharding { type: MANUAL } " +
      kLocal + "} instructions { name: 'n' opcode: 'negate' id: 4 operand_ids: 3 " + kLocal +
      "} instructions { name: 't' opcode: 'custom-call' id: 5 operand_ids: 4 custom_call_target: "
      "'Sharding' sharding { type: MANUAL } " +
      kLocal +
      "} instructions { name: 'g' opcode: 'custom-call' id: 6 operand_ids: 5 custom_call_target: "
      "'SPMDShardToFullShape' " +
      kShape + split + "}";
  const std::string text = print_stablehlo(import_hlo(hlo_module(main, 6), "test.pb"));
  EXPECT_NE(text.find("sdy.manual_computation"), text.npos) << text;
  EXPECT_NE(text.find("out_shardings=[<@mesh, [{\"axis_0\"}, {}]>] manual_axes={\"axis_0\"}"),
            text.npos)
      << text;
  EXPECT_EQ(text.find("SPMD"), text.npos) << text;
}

}  // namespace
}  // namespace spmd
