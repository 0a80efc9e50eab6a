#include "sharding/spec/tile_assignment.h"

#include <gtest/gtest.h>

#include "sharding/spec/hlo_sharding.h"
#include "sharding/spec/sharding_text.h"
#include "support/error.h"
#include "tests/support/error_of.h"

namespace spmd {
namespace {

using testing::error_of;

Sharding sdy(const std::string& text, const Mesh& mesh) {
  return parse_sdy_sharding(
             "#sdy.sharding<@mesh, " + text + ">", [&](std::string_view) { return &mesh; }, "test")
      .sharding;
}

std::string on_mesh(const std::string& hlo, const Mesh& mesh, int64_t rank) {
  const auto sharding = sharding_from_hlo(parse_hlo_sharding(hlo, "test"), mesh, rank);
  return sharding ? sharding->to_string(mesh) : "none";
}

const Mesh kThreeAxes({{"axis_0", 2}, {"axis_1", 4}, {"axis_2", 4}});
const Mesh kOddOrder({{"axis_0", 2}, {"axis_1", 2}, {"axis_2", 2}}, {0, 2, 4, 6, 1, 3, 5, 7});

struct Case {
  const char* hlo;
  const char* sdy;
  const Mesh* mesh;
};

TEST(TileAssignment, EqualsNamedAxes) {
  const Mesh two({{"x", 8}, {"y", 4}});
  const Case cases[] = {
      {"{devices=[4,8]<=[8,4]T(1,0)}", R"([{"axis_2"}, {"axis_0", "axis_1"}])", &kThreeAxes},
      {"{devices=[1,4,8]<=[2,4,4]T(1,0,2) last_tile_dim_replicate}", R"([{}, {"axis_1"}])",
       &kThreeAxes},
      {"{devices=[4,2,4]<=[2,2,2,4]T(3,1,0,2) last_tile_dim_replicate}", R"([{"y"}, {"x":(2)2}])",
       &two},
      {"{devices=[2,4]0,4,1,5,2,6,3,7}", R"([{"axis_2"}, {"axis_0", "axis_1"}])", &kOddOrder},
      {"{devices=[1,4,2]0,4,2,6,1,5,3,7 last_tile_dim_replicate}", R"([{}, {"axis_0", "axis_2"}])",
       &kOddOrder},
      {"{devices=[4,1,2]0,2,1,3,4,6,5,7 last_tile_dim_replicate}", R"([{"axis_1", "axis_0"}, {}])",
       &kOddOrder},
      {"{devices=[1,4,2,4]<=[2,4,4]T(1,0,2) last_tile_dims={manual, replicated}}",
       R"([{}, {"axis_1"}], manual={"axis_0"})", &kThreeAxes},
      {"{devices=[1,4,8]<=[2,4,4]T(1,0,2) last_tile_dims={unreduced}}",
       R"([{}, {"axis_1"}], unreduced={"axis_0", "axis_2"})", &kThreeAxes},
      {"{mesh['axis_0'=2,'axis_1'=4,'axis_2'=4], [{'axis_2'}, {'axis_0', 'axis_1'}]}",
       R"([{"axis_2"}, {"axis_0", "axis_1"}])", &kThreeAxes},
      {"{mesh['a'=8,'b'=4], [{'b'}, {'a':(1)2}], manual={'a':(2)4}}",
       R"([{"axis_2"}, {"axis_0"}], manual={"axis_1"})", &kThreeAxes},
      {"{replicated}", "[{}, {}]", &kThreeAxes},
      {"{maximal device=0}", "[{}, {}]", &kThreeAxes},
      {"{devices=[1,1]0}", "[{}, {}]", &kThreeAxes},
      {"{mesh[], [{}, {}]}", "[{}, {}]", &kThreeAxes},
      {"{manual shard_as 1}", R"([{}, {}], manual={"axis_0", "axis_1", "axis_2"})", &kThreeAxes},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(on_mesh(c.hlo, *c.mesh, 2), sdy(c.sdy, *c.mesh).to_string(*c.mesh)) << c.hlo;
  }
  EXPECT_EQ(on_mesh("{unknown shard_as 1}", kThreeAxes, 2), "none");
  EXPECT_EQ(on_mesh("", kThreeAxes, 2), "none");
}

TEST(TileAssignment, Inverse) {
  const char* shardings[] = {R"([{"axis_2"}, {"axis_0", "axis_1"}])", R"([{}, {"axis_1"}])",
                             R"([{"axis_1", "axis_0"}, {}])",
                             R"([{"axis_2"}, {}], manual={"axis_0"})",
                             R"([{}, {"axis_1"}], unreduced={"axis_2"})"};
  for (const Mesh* mesh : {&kThreeAxes, &kOddOrder}) {
    for (const char* text : shardings) {
      const Sharding sharding = sdy(text, *mesh);
      const TileAssignment tiles = tiles_from_sharding(sharding, *mesh);
      EXPECT_EQ(check_tiles(tiles), mesh->num_devices());
      EXPECT_EQ(sharding_from_tiles(tiles, *mesh, 2), sharding) << text;
    }
  }
}

TEST(TileAssignment, WhatNoAxesRealise) {
  const Mesh mesh({{"x", 8}});
  EXPECT_EQ(error_of([&] { on_mesh("{devices=[8]0,1,2,3,4,5,7,6}", mesh, 1); }),
            "the sharding {devices=[8]0,1,2,3,4,5,7,6} follows no axes of the mesh x=8");
  EXPECT_EQ(error_of([&] { on_mesh("{devices=[4]<=[4]}", mesh, 1); }),
            "the sharding {devices=[4]<=[4]} is for 4 devices, the mesh x=8 has 8");
  EXPECT_EQ(error_of([&] { on_mesh("{devices=[8]<=[8]}", mesh, 2); }),
            "the sharding {devices=[8]<=[8]} is for 1 dimensions, the tensor has 2");
  EXPECT_EQ(error_of([&] { on_mesh("{devices=[2,2]0,1,1,3}", mesh, 2); }),
            "device 1 twice in the sharding {devices=[2,2]0,1,1,3} of 4 tiles");
  EXPECT_EQ(error_of([&] { on_mesh("{devices=[2,4]<=[4,2]T(0,0)}", mesh, 2); }),
            "transposition (0,0) in the sharding {devices=[2,4]<=[4,2]T(0,0)} of 8 tiles");
  EXPECT_EQ(error_of([&] { on_mesh("{devices=[4,2]<=[6]}", mesh, 2); }),
            "6 devices in the sharding {devices=[4,2]<=[6]} of 8 tiles");
  EXPECT_EQ(error_of([&] { on_mesh("{devices=[1073741824,1073741824]<=[2]}", mesh, 2); }),
            "a tile assignment of more than 1048576 devices");
}

TEST(HloSharding, Syntax) {
  EXPECT_EQ(parse_hlo_sharding("{{replicated}, {devices=[2]<=[2]}}", "t").elements.size(), 2u);
  EXPECT_EQ(error_of([] { parse_hlo_sharding("{devices=[2]<=2}", "here"); }),
            "here, at character 15: found '2', expected '['");
  EXPECT_EQ(error_of([] { parse_hlo_sharding("{mesh['x'=2], [{'z'}]}", "here"); }),
            "here, at character 17: the mesh has no axis 'z'");
  EXPECT_EQ(error_of([] { parse_hlo_sharding("{replicated", "here"); }),
            "here, at character 12: found the end of the text, expected '}'");
  EXPECT_EQ(error_of([] { parse_hlo_sharding(std::string(100000, '{'), "here"); }),
            "here, at character 201: nested too deeply");
}

TEST(MeshFromTiles, CommonRefinement) {
  const auto mesh_of = [](std::initializer_list<const char*> texts, int64_t devices) {
    std::vector<HloSharding> shardings;
    for (const char* text : texts) shardings.push_back(parse_hlo_sharding(text, "t"));
    return mesh_from_hlo(shardings, devices);
  };
  EXPECT_EQ(mesh_of({}, 0).to_string(), "");
  EXPECT_EQ(mesh_of({"{replicated}"}, 8).to_string(), "axis_0=8");
  EXPECT_EQ(mesh_of({"{devices=[8,1]<=[8]}"}, 0).to_string(), "axis_0=8");
  EXPECT_EQ(mesh_of({"{devices=[2,4]<=[8]}"}, 8).to_string(), "axis_0=2,axis_1=4");
  EXPECT_EQ(mesh_of({"{devices=[2,4]<=[8]}", "{devices=[4,2]<=[2,4]T(1,0)}"}, 8).to_string(),
            "axis_0=2,axis_1=4");
  EXPECT_EQ(mesh_of({"{devices=[2,4]<=[8]}", "{devices=[4,2]<=[8]}"}, 8).to_string(),
            "axis_0=2,axis_1=2,axis_2=2");
  const Mesh ring = mesh_of({"{replicated}", "{devices=[4]0,1,3,2}"}, 4);
  EXPECT_EQ(ring.to_string(), "axis_0=4");
  EXPECT_EQ(ring.device_ids(), (std::vector<int64_t>{0, 1, 3, 2}));
  EXPECT_EQ(mesh_of({"{mesh['a'=2,'b'=4], [{'b'}]}"}, 8).to_string(), "a=2,b=4");
  EXPECT_EQ(error_of([&] {
              mesh_of({"{devices=[2,3]<=[6]}", "{devices=[3,2]<=[6]}"}, 6);
            }),
            "no mesh has axes for all of these shardings:\n    {devices=[2,3]<=[6]}\n    "
            "{devices=[3,2]<=[6]}\n  name a mesh and shardings of your own with --config");
}

TEST(AxesOfGroups, FindsTheAxes) {
  const Mesh mesh({{"x", 2}, {"y", 4}});
  const AxisList x = {{0, 1, 0}}, y = {{1, 1, 0}}, y_minor = {{1, 2, 2}};
  const AxisList yx = {{1, 1, 0}, {0, 1, 0}}, xy = {{0, 1, 0}, {1, 1, 0}};
  for (const AxisList& axes : {x, y, y_minor, yx, xy, AxisList{}}) {
    for (const Mesh& order : {mesh, Mesh(mesh.axes(), {0, 2, 4, 6, 1, 3, 5, 7})}) {
      EXPECT_EQ(axes_of_groups(device_groups(axes, order), order), axes);
    }
  }
  EXPECT_EQ(axes_of_groups({}, mesh), xy);
  EXPECT_EQ(axes_of_groups({{0, 1}, {3, 2}, {4, 5}, {6, 7}}, mesh), std::nullopt);
  EXPECT_EQ(axes_of_groups({{0, 1, 2}, {3, 4, 5}}, mesh), std::nullopt);
  EXPECT_EQ(axes_of_groups({{0, 9}, {1, 2}, {4, 5}, {6, 7}}, mesh), std::nullopt);
}

TEST(SdyText, ReadsWhatItWrites) {
  const Mesh mesh({{"x", 4}, {"y", 2}, {"z", 2}});
  for (const char* text :
       {R"([{"x", "y"}, {?}])", R"([{"x":(1)2, ?}p1, {}], replicated={"y"}, unreduced=max{"z"})",
        R"([], unreduced={"x"})", R"([{"x":(2)2}], manual={"z"})"}) {
    EXPECT_EQ(sdy(text, mesh).to_string(mesh), text);
  }
  EXPECT_EQ(error_of([&] { sdy(R"([{"w"}])", mesh); }),
            "test, at character 24: the mesh has no axis \"w\"\n  it is x=4,y=2,z=2");
  EXPECT_EQ(error_of([&] { sdy(R"([{"x":(3)2}])", mesh); }),
            "test, at character 24: (3)2 is no factor of the axis \"x\" of size 4");
  const auto meshes = parse_sdy_meshes(
      R"({mesh = #sdy.mesh<[\22a\22=2, "b"=2]>, maximal_mesh_5 = #sdy.mesh<[], device_ids=[5]>})",
      "t");
  ASSERT_EQ(meshes.size(), 2u);
  EXPECT_EQ(mesh_text(meshes[0].second), R"(<["a"=2, "b"=2]>)");
  EXPECT_EQ(axes_text(parse_sdy_manual_axes("#sdy<manual_axes{\"x\"}>", mesh, "t"), mesh),
            R"({"x"})");
  EXPECT_EQ(parse_sdy_sharding_per_value(
                "#sdy.sharding_per_value<[<@mesh, [{\"x\"}, {}]>, "
                "<mesh<[\"q\"=4]>, [{\"q\"}]>]>",
                [&](std::string_view) { return &mesh; }, "t")
                .size(),
            2u);
}

}  // namespace
}  // namespace spmd
