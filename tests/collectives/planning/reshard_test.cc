#include "collectives/planning/reshard.h"

#include <gtest/gtest.h>

#include "sharding/spec/sharding_text.h"

namespace spmd {
namespace {

using Kind = ReshardStep::Kind;

Sharding sharding(const std::string& text, const Mesh& mesh) {
  const auto lookup = [&](std::string_view) { return &mesh; };
  return parse_sdy_sharding("#sdy.sharding<@mesh, " + text + ">", lookup, "test").sharding;
}

ReshardPlan plan(const std::string& mesh_text, const std::vector<int64_t>& shape,
                 const std::string& from, const std::string& to) {
  const Mesh mesh = parse_mesh(mesh_text);
  return plan_reshard(shape, 4, sharding(from, mesh), sharding(to, mesh), mesh, CostModel());
}

std::vector<Kind> kinds(const ReshardPlan& plan) {
  std::vector<Kind> result;
  for (const ReshardStep& step : plan.steps) result.push_back(step.kind);
  return result;
}

using Kinds = std::vector<Kind>;

TEST(Reshard, NothingToDo) {
  EXPECT_TRUE(plan("x=4", {8, 8}, R"([{"x"}, {}])", R"([{"x"}, {?}])").steps.empty());
  EXPECT_TRUE(plan("x=4,one=1", {8, 8}, R"([{"x", "one"}, {}])", R"([{"x"}, {}])").steps.empty());
}

TEST(Reshard, GatherOfMinorAxis) {
  const ReshardPlan p = plan("x=2,y=4", {8, 8}, R"([{"x", "y"}, {}])", R"([{"x"}, {}])");
  ASSERT_EQ(kinds(p), Kinds{Kind::kAllGather});
  EXPECT_EQ(p.bytes_sent, 8 * 8 * 4 / 2 * 3 / 4);
  EXPECT_EQ(p.peak_bytes, 8 * 8 * 4 / 2);
  EXPECT_FALSE(p.full_rematerialization);
}

TEST(Reshard, SlicesOfOneDimensionAreOneStep) {
  const ReshardPlan p = plan("x=2,y=3,z=2", {24}, "[{}]", R"([{"x", "z", "y"}])");
  EXPECT_EQ(kinds(p), Kinds{Kind::kSlice});
  EXPECT_EQ(p.bytes_sent, 0);
}

TEST(Reshard, ReplacingAnAxisIsAPermute) {
  const ReshardPlan p = plan("x=4,y=4", {64, 8}, R"([{"x"}, {}])", R"([{"y"}, {}])");
  EXPECT_EQ(kinds(p), Kinds{Kind::kPermute});
  EXPECT_EQ(p.bytes_sent, 64 * 8);
}

TEST(Reshard, ReorderingMinorAxesDoesNotGather) {
  const ReshardPlan p =
      plan("x=2,y=2,z=2", {8, 8}, R"([{"x", "y", "z"}, {}])", R"([{"x", "z", "y"}, {}])");
  EXPECT_EQ(kinds(p), Kinds{Kind::kPermute});
}

TEST(Reshard, LargeAxisReplacedBySmallOne) {
  const ReshardPlan p = plan("x=4,y=2", {4096, 1024}, R"([{"x"}, {}])", R"([{"y"}, {}])");
  EXPECT_EQ(kinds(p), (Kinds{Kind::kPermute, Kind::kAllGather}));
  EXPECT_FALSE(p.full_rematerialization);
}

TEST(Reshard, MixedUnreducedAndReplicated) {  // openxla/xla#40034
  const ReshardPlan p =
      plan("x=2,y=2", {1024, 1024}, R"([{}, {}], unreduced={"x", "y"})", R"([{"x"}, {}])");
  EXPECT_EQ(kinds(p), (Kinds{Kind::kReduceScatter, Kind::kAllReduce}));
}

TEST(Reshard, TwoAllToAlls) {  // openxla/xla#15207
  const ReshardPlan p =
      plan("x=4,y=2", {16, 16, 16}, R"([{"y"}, {}, {"x"}])", R"([{}, {"x", "y"}, {}])");
  EXPECT_EQ(kinds(p), (Kinds{Kind::kAllToAll, Kind::kAllToAll}));
  EXPECT_EQ(p.peak_bytes, 16 * 16 * 16 * 4 / 8);
}

TEST(Reshard, AllToAllInSubgroups) {  // alpa-projects/alpa#701
  const std::vector<int64_t> shape = {8, 4, 4, 8};
  EXPECT_EQ(
      kinds(plan("x=8", shape, R"([{"x"}, {}, {}, {}])", R"([{"x":(1)2}, {}, {}, {"x":(2)4}])")),
      Kinds{Kind::kAllToAll});
  EXPECT_EQ(
      kinds(plan("x=8", shape, R"([{"x"}, {}, {}, {}])", R"([{"x":(1)4}, {}, {}, {"x":(4)2}])")),
      Kinds{Kind::kAllToAll});
}

TEST(Reshard, TransposedShardingDoesNotGather) {  // openxla/xla#4062
  const ReshardPlan p = plan("x=4,y=2", {2048, 4096}, R"([{"x"}, {"y"}])", R"([{"y"}, {"x"}])");
  EXPECT_FALSE(p.full_rematerialization);
  EXPECT_EQ(p.peak_bytes, 2048 * 4096 * 4 / 8);
}

TEST(Reshard, ReplicatedToShardedIsFree) {  // openxla/xla#17913, #5963
  const ReshardPlan p = plan("x=4", {8, 16}, "[{}, {}]", R"([{}, {"x"}])");
  EXPECT_EQ(kinds(p), Kinds{Kind::kSlice});
  EXPECT_EQ(p.seconds, 0);
}

TEST(Reshard, PartialToShardedIsOneReduceScatter) {  // openxla/xla#44799
  const ReshardPlan p = plan("x=4", {8, 8}, R"([{}, {}], unreduced={"x"})", R"([{"x"}, {}])");
  ASSERT_EQ(kinds(p), Kinds{Kind::kReduceScatter});
  EXPECT_EQ(p.bytes_sent, 8 * 8 * 4 * 3 / 4);
}

TEST(Reshard, SlicesBeforeReducing) {
  const ReshardPlan p = plan("x=4,y=4", {16, 16}, R"([{}, {}], unreduced={"x"})", R"([{"y"}, {}])");
  EXPECT_EQ(kinds(p), (Kinds{Kind::kSlice, Kind::kAllReduce}));
}

TEST(Reshard, ReducesBeforeGathering) {
  const ReshardPlan p =
      plan("x=4,y=4", {4096, 4096}, R"([{"y"}, {}], unreduced={"x"})", R"([{}, {}])");
  const int64_t all = 4096 * 4096 * 4;
  EXPECT_EQ(p.bytes_sent, all / 4 * 2 * 3 / 4 + all * 3 / 4);
}

TEST(Reshard, ReplicatedToPartialIsLocal) {
  const ReshardPlan p = plan("x=4", {8}, "[{}]", R"([{}], unreduced={"x"})");
  EXPECT_EQ(kinds(p), Kinds{Kind::kMakePartial});
}

TEST(Reshard, OtherReductionReducesFirst) {
  const ReshardPlan p =
      plan("x=4,y=2", {8}, R"([{}], unreduced=max{"x"})", R"([{}], unreduced={"x"})");
  EXPECT_EQ(kinds(p), (Kinds{Kind::kAllReduce, Kind::kMakePartial}));
}

TEST(Reshard, OtherFactorsOfAnAxisGatherFirst) {
  const ReshardPlan p = plan("x=6", {6}, R"([{"x":(1)3}])", R"([{"x":(1)2}])");
  EXPECT_EQ(kinds(p), (Kinds{Kind::kAllGather, Kind::kSlice}));
  EXPECT_TRUE(p.full_rematerialization);
}

TEST(Reshard, TradesLatencyForAFullRematerialization) {
  const ReshardPlan p =
      plan("x=2,y=2", {2, 2, 4}, R"([{}, {}, {"x", "y"}])", R"([{}, {"x"}, {"y"}])");
  EXPECT_FALSE(p.full_rematerialization);
  EXPECT_LT(p.bytes_sent, 2 * 2 * 4 * 4 * 3 / 4);
}

TEST(Reshard, ManyAxesStillPlan) {
  std::string mesh;
  std::string from = "[{", to = "[{}, {";
  for (int i = 0; i < 17; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    const std::string separator = i > 0 ? ", " : "";
    mesh += (i > 0 ? "," : "") + name + "=2";
    from += separator + '"' + name + '"';
    to += separator + '"' + static_cast<char>('a' + 16 - i) + '"';
  }
  const ReshardPlan p = plan(mesh, {1 << 17, 1 << 17}, from + "}, {}]", to + "}]");
  ASSERT_FALSE(p.steps.empty());
}

TEST(Reshard, StepsDoNotDependOnAxisSizes) {
  const auto steps = [](const std::string& mesh) {
    return kinds(plan(mesh, {4096, 4096}, R"([{"x"}, {"y"}])", R"([{}, {"x", "y"}])"));
  };
  EXPECT_EQ(steps("x=2,y=2"), steps("x=64,y=64"));
}

}  // namespace
}  // namespace spmd
