// Where annotations end up.
#include "sharding/propagation/propagation.h"

#include "gtest/gtest.h"
#include "ir/text.h"

namespace spmd::testing {
namespace {

struct Propagated {
  // The sharding of the n-th op's first result, counting ops that are no constants.
  std::string op(size_t n) const {
    const Function& main = module.main();
    std::vector<OpId> ops;
    walk(main, [&](OpId id) {
      if (main.op(id).code != OpCode::kConstant && !main.op(id).results.empty()) ops.push_back(id);
    });
    return sharding(main.op(ops.at(n)).results[0]);
  }
  std::string argument(size_t n) const { return sharding(module.main().arguments().at(n)); }
  std::string result(size_t n) const {
    return module.main().result_info.at(n).sharding->to_string(module.mesh);
  }
  std::string sharding(ValueId value) const {
    return module.main().value(value).sharding->to_string(module.mesh);
  }
  Module module;
};

// `text` is the signature and body of main() on the mesh.
Propagated propagate(const std::string& mesh, const std::string& text) {
  Propagated result;
  result.module = parse_stablehlo(
      "module @test {\nsdy.mesh @mesh = <[" + mesh + "]>\nfunc.func public @main" + text + "\n}\n",
      "test.mlir");
  propagate_shardings(result.module);
  return result;
}

TEST(Propagation, BatchGoesThroughAChainOfWeightsShardedOnTheSameAxis) {
  // FSDP: the activations keep the batch on the axis, whatever the weights are sharded by.
  const Propagated p = propagate("\"fsdp\"=4", R"((
    %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp", ?}, {?}]>},
    %w: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"fsdp", ?}]>, tf.aliasing_output = 1 : i32},
    %v: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp", ?}, {?}]>, tf.aliasing_output = 2 : i32})
    -> (tensor<8x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %1 = stablehlo.tanh %0 : tensor<8x32xf32>
    %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    return %2, %w, %v : tensor<8x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>
  })");
  EXPECT_EQ(p.op(0), R"([{"fsdp"}, {}])");
  EXPECT_EQ(p.op(1), R"([{"fsdp"}, {}])");
  EXPECT_EQ(p.op(2), R"([{"fsdp"}, {}])");
  EXPECT_EQ(p.result(1), R"([{}, {"fsdp"}])");
}

TEST(Propagation, MegatronShardsTheHiddenDimension) {
  const Propagated p = propagate("\"data\"=2, \"model\"=2", R"((
    %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", ?}, {?}]>},
    %w: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"model", ?}]>},
    %v: tensor<32x16xf32>) -> tensor<8x16xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %1 = stablehlo.tanh %0 : tensor<8x32xf32>
    %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    return %2 : tensor<8x16xf32>
  })");
  EXPECT_EQ(p.op(1), R"([{"data"}, {"model"}])");
  EXPECT_EQ(p.op(2), R"([{"data"}, {}])");
  EXPECT_EQ(p.argument(2), R"([{"model"}, {}])");  // inferred through the contraction
}

TEST(Propagation, UserPrioritiesComeFirst) {
  const std::string text = R"((
    %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}PX, {?}]>},
    %y: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"a", ?}PY]>}) -> tensor<8x16xf32> {
    %0 = stablehlo.add %x, %y : tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  })";
  const auto with = [&](const char* x, const char* y) {
    std::string changed = text;
    changed.replace(changed.find("PX"), 2, x);
    changed.replace(changed.find("PY"), 2, y);
    return propagate("\"a\"=2", changed).op(0);
  };
  EXPECT_EQ(with("p0", "p1"), R"([{"a"}, {}])");
  EXPECT_EQ(with("p1", "p0"), R"([{}, {"a"}])");
}

TEST(Propagation, ClosedDimensionsStayAsTheyAre) {
  const Propagated p = propagate("\"a\"=2", R"((
    %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>},
    %y: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<8x16xf32> {
    %0 = stablehlo.add %x, %y : tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  })");
  EXPECT_EQ(p.op(0), R"([{"a"}, {}])");
  EXPECT_EQ(p.argument(1), "[{}, {}]");
}

TEST(Propagation, ReplicatedAxesAreNotUsed) {
  const Propagated p = propagate("\"a\"=2", R"((
    %x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>},
    %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], replicated={"a"}>}) -> tensor<8xf32> {
    %0 = stablehlo.add %x, %y : tensor<8xf32>
    return %0 : tensor<8xf32>
  })");
  EXPECT_EQ(p.argument(1), "[{}]");
}

TEST(Propagation, CarriesOfALoopAgreeInsideAndOutside) {
  const Propagated p = propagate("\"a\"=2", R"((
    %x: tensor<8xf32>, %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}]>}) -> tensor<8xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<8xf32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %i, %one : tensor<i32>
      %3 = stablehlo.add %s, %y : tensor<8xf32>
      stablehlo.return %2, %3 : tensor<i32>, tensor<8xf32>
    }
    return %0#1 : tensor<8xf32>
  })");
  EXPECT_EQ(p.argument(0), R"([{"a"}])");
  EXPECT_EQ(p.result(0), R"([{"a"}])");
}

TEST(Propagation, AnAxisIsSplitWhereAReshapeSplitsTheDimension) {
  const Propagated p = propagate("\"a\"=4", R"((
    %x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<2x4xf32> {
    %0 = stablehlo.reshape %x : (tensor<8xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  })");
  EXPECT_EQ(p.op(0), R"([{"a":(1)2}, {"a":(2)2}])");
}

TEST(Propagation, AResultIsPlacedLikeTheArgumentItReplaces) {
  const Propagated p = propagate("\"a\"=2", R"((
    %x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>, tf.aliasing_output = 0 : i32}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}) {
    %0 = stablehlo.negate %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  })");
  EXPECT_EQ(p.result(0), R"([{"a"}])");
}

TEST(Propagation, BarriersLetAxesPassInOneDirection) {
  const auto through = [](const std::string& direction) {
    const Propagated p = propagate("\"x\"=2, \"y\"=2", R"((
    %a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"y", ?}]>}) {
    %0 = stablehlo.negate %a : tensor<8x4xf32>
    %1 = sdy.propagation_barrier %0 allowed_direction=)" + direction +
                                                           R"( : tensor<8x4xf32>
    %2 = stablehlo.negate %1 : tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  })");
    return p.op(0) + " " + p.op(2);
  };
  EXPECT_EQ(through("BOTH"), R"([{"x"}, {"y"}] [{"x"}, {"y"}])");
  EXPECT_EQ(through("FORWARD"), R"([{"x"}, {}] [{"x"}, {"y"}])");
  EXPECT_EQ(through("BACKWARD"), R"([{"x"}, {"y"}] [{}, {"y"}])");
  EXPECT_EQ(through("NONE"), R"([{"x"}, {}] [{}, {"y"}])");
}

TEST(Propagation, ValuesOfAGroupAreShardedAlike) {
  const Propagated p = propagate("\"x\"=2", R"((
    %a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<6x2xf32>, %c: tensor<6x2xf32>) -> tensor<6x2xf32> {
    sdy.sharding_group %a group_id=3 : tensor<8x4xf32>
    sdy.sharding_group %b group_id=3 : tensor<6x2xf32>
    sdy.sharding_group %c group_id=4 : tensor<6x2xf32>
    %0 = sdy.propagation_barrier %b allowed_direction=NONE : tensor<6x2xf32>
    return %0 : tensor<6x2xf32>
  })");
  EXPECT_EQ(p.argument(1), R"([{"x"}, {}])");
  EXPECT_EQ(p.argument(2), "[{}, {}]");
}

}  // namespace
}  // namespace spmd::testing
