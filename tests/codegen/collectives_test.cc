// Collectives in plans: their meaning on local ranks, and which of them travel together.
#include "codegen/cluster_collectives.h"
#include "ir/builder.h"
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

// main() on a mesh data=2,model=2 whose values are local.
class RankProgram {
 public:
  RankProgram() : fn(module.function(module.add_function("main"))), b(fn, fn.body()) {
    module.mesh = Mesh({{"data", 2}, {"model", 2}});
  }
  ValueId argument(Dims shape) {
    fn.argument_info.emplace_back();
    return fn.add_block_argument(fn.body(), {DType::kF32, std::move(shape)});
  }
  ValueId all_reduce(ValueId x, int axis, OpCode reducer = OpCode::kAdd) {
    const OpId op =
        b.create(OpCode::kAllReduce, {x}, {fn.type(x)}, AllReduceAttrs{{{AxisRef{axis}}, {}}});
    add_reducer_region(fn, op, reducer, fn.type(x).dtype);
    return fn.op(op).results[0];
  }
  ValueId gather(ValueId x) {
    TensorType type = fn.type(x);
    type.shape[0] *= 2;
    return fn.op(b.create(OpCode::kAllGather, {x}, {type}, AllGatherAttrs{0, {{AxisRef{0}}, {}}}))
        .results[0];
  }
  ValueId scatter(ValueId x) {
    TensorType type = fn.type(x);
    type.shape[0] /= 2;
    const OpId op =
        b.create(OpCode::kReduceScatter, {x}, {type}, ReduceScatterAttrs{0, {{AxisRef{0}}, {}}});
    add_reducer_region(fn, op, OpCode::kAdd, type.dtype);
    return fn.op(op).results[0];
  }
  ValueId sum(ValueId x) { return b.reduce(x, b.scalar(DType::kF32, 0), {0}, OpCode::kAdd); }
  // Contracts the second dimension of both.
  ValueId product(ValueId x, ValueId y) {
    DotAttrs attrs;
    attrs.lhs_contracting = {1};
    attrs.rhs_contracting = {1};
    return b.value(OpCode::kDotGeneral, {x, y}, attrs);
  }
  plan::Plan returns(std::vector<ValueId> results) {
    fn.result_info.resize(results.size());
    b.return_op(std::move(results));
    return plan_of(module);
  }
  void expect_meaning(const plan::Plan& plan) {
    std::mt19937 random(5);
    RankValues arguments;
    for (int64_t rank = 0; rank < module.mesh.num_devices(); ++rank)
      arguments.push_back(random_arguments(module, random));
    const RankValues wanted = evaluate_ranks(module, arguments);
    const RankValues found = run_plan(module, plan, arguments);
    for (size_t rank = 0; rank < wanted.size(); ++rank)
      for (size_t i = 0; i < wanted[rank].size(); ++i)
        expect_close(found[rank][i], wanted[rank][i], 1e-6,
                     "rank " + std::to_string(rank) + " result " + std::to_string(i));
  }

  Module module;
  Function& fn;
  Builder b;
};

TEST(Collectives, OfViewsAreMadeDense) {
  RankProgram p;
  const ValueId x = p.argument({4, 6});
  const AxisRef data{0}, model{1};
  const ValueId t = p.b.transpose(x, {1, 0});
  const OpId gather =
      p.b.create(OpCode::kAllGather, {t}, {{DType::kF32, {6, 8}}}, AllGatherAttrs{1, {{data}, {}}});
  const OpId scatter = p.b.create(OpCode::kReduceScatter, {x}, {{DType::kF32, {4, 3}}},
                                  ReduceScatterAttrs{1, {{model}, {}}});
  add_reducer_region(p.fn, scatter, OpCode::kAdd, DType::kF32);
  const OpId exchange = p.b.create(OpCode::kAllToAll, {x}, {{DType::kF32, {4, 6}}},
                                   AllToAllAttrs{0, 0, {{data, model}, {}}});
  const OpId permute = p.b.create(OpCode::kCollectivePermute, {x}, {p.fn.type(x)},
                                  CollectivePermuteAttrs{{data}, {{0, 1}}});
  const OpId index =
      p.b.create(OpCode::kAxisIndex, {}, {{DType::kS32, {}}}, AxisIndexAttrs{{model, data}});
  const OpId id = p.b.create(OpCode::kPartitionId, {}, {{DType::kU32, {}}}, NoAttrs{});
  const plan::Plan plan = p.returns({p.fn.op(gather).results[0], p.fn.op(scatter).results[0],
                                     p.fn.op(exchange).results[0], p.fn.op(permute).results[0],
                                     p.fn.op(index).results[0], p.fn.op(id).results[0]});
  p.expect_meaning(plan);
}

TEST(Collectives, IndependentOnesOfAKindTravelTogether) {
  RankProgram p;
  const ValueId x = p.argument({8}), y = p.argument({2, 3}), z = p.argument({5});
  const ValueId a = p.all_reduce(x, 0);
  const ValueId n = p.b.value(OpCode::kNegate, {y});
  const ValueId c = p.all_reduce(n, 0);
  const ValueId m = p.all_reduce(z, 0, OpCode::kMaximum);
  const ValueId o = p.all_reduce(z, 1);
  const plan::Plan plan = p.returns({a, c, m, o});
  EXPECT_EQ(kinds(plan)["all_reduce"], 3);
  int parts = 0;
  for (const plan::Step& step : plan.programs(0).body().steps())
    parts = std::max(parts, step.collective().parts_size());
  EXPECT_EQ(parts, 2);
  p.expect_meaning(plan);
}

TEST(Collectives, DependentOnesDoNot) {
  RankProgram p;
  const ValueId x = p.argument({8});
  const ValueId a = p.all_reduce(x, 0);
  const ValueId b = p.b.value(OpCode::kNegate, {a});
  const ValueId c = p.all_reduce(b, 0);
  const plan::Plan plan = p.returns({c});
  EXPECT_EQ(kinds(plan)["all_reduce"], 2);
  p.expect_meaning(plan);
}

TEST(Collectives, CallsAreBounded) {
  RankProgram p;
  std::vector<ValueId> results;
  for (int i = 0; i < 6; ++i) results.push_back(p.all_reduce(p.argument({256}), 0));
  p.fn.result_info.resize(results.size());
  p.b.return_op(std::move(results));
  EmitInfo info = unsharded_info(p.module);
  info.combine_bytes = 2048;
  EXPECT_EQ(kinds(emit_plan(p.module, info))["all_reduce"], 3);
  info.combine_bytes = 0;
  EXPECT_EQ(kinds(emit_plan(p.module, info))["all_reduce"], 6);
}

// Two layers x -> x w^T + b, forwards and backwards, whose biases and their gradients are cut.
struct Layers {
  explicit Layers(RankProgram& p, int64_t width = 8) {
    const ValueId x = p.argument({4, width});
    ValueId at = x;
    for (int layer = 0; layer < 2; ++layer) {
      biases.push_back(p.argument({width / 2}));
      weights.push_back(p.argument({width, width}));
      inputs.push_back(at);
      const ValueId bias = p.gather(p.b.convert(biases.back(), DType::kBF16));
      at =
          p.b.value(OpCode::kAdd, {p.product(at, weights.back()),
                                   p.b.broadcast(p.b.convert(bias, DType::kF32), {4, width}, {1})});
    }
    for (int layer = 1; layer >= 0; --layer) {
      const ValueId gradient = p.scatter(p.b.convert(p.sum(at), DType::kBF16));
      at = p.product(at, p.b.transpose(weights[static_cast<size_t>(layer)], {1, 0}));
      results.push_back(p.b.value(OpCode::kSubtract, {biases[static_cast<size_t>(layer)],
                                                      p.b.convert(gradient, DType::kF32)}));
    }
    results.push_back(at);
  }
  std::vector<ValueId> biases, weights, inputs, results;
};

TEST(Collectives, SmallGathersAndReductionsOfLayersTravelTogether) {
  RankProgram p;
  Layers layers(p);
  const plan::Plan plan = p.returns(layers.results);
  EXPECT_EQ(kinds(plan)["all_gather"], 1);
  EXPECT_EQ(kinds(plan)["reduce_scatter"], 1);
  p.expect_meaning(plan);
}

TEST(Collectives, LargeOnesStayWithTheirLayers) {
  RankProgram p;
  Layers layers(p, 4 * codegen::kSmallBytes);
  const plan::Plan plan = p.returns(layers.results);
  EXPECT_EQ(kinds(plan)["all_gather"], 2);
  EXPECT_EQ(kinds(plan)["reduce_scatter"], 2);
}

TEST(Collectives, ThoseOfOneLayerAfterTheOtherStayInTheirOrder) {
  RankProgram p;
  const ValueId w = p.argument({8, 8});
  ValueId x = p.argument({4, 8});
  std::vector<ValueId> results;
  for (int layer = 0; layer < 3; ++layer) {
    const ValueId sum = p.all_reduce(p.product(x, w), 0);  // what the next layer needs
    results.push_back(p.all_reduce(p.sum(sum), 0));
    x = p.b.value(OpCode::kNegate, {sum});
  }
  results.push_back(x);
  const plan::Plan plan = p.returns(results);
  EXPECT_EQ(kinds(plan)["all_reduce"], 4);  // one a layer, and the results' in one
  p.expect_meaning(plan);
}

TEST(Collectives, WhatDependsOnAnotherOfTheSameKindIsNotMovedBeforeIt) {
  RankProgram p;
  const ValueId x = p.argument({8}), y = p.argument({8}), w = p.argument({8, 8});
  const ValueId a = p.all_reduce(x, 0);
  const ValueId b = p.all_reduce(p.b.value(OpCode::kAdd, {a, y}), 0);
  const ValueId big = p.product(w, w);
  const ValueId c = p.all_reduce(p.b.value(OpCode::kMultiply, {b, p.sum(big)}), 0);
  const ValueId d = p.all_reduce(p.b.value(OpCode::kNegate, {y}), 1);
  const plan::Plan plan = p.returns({p.b.value(OpCode::kAdd, {a, c}), d, b});
  EXPECT_EQ(kinds(plan)["all_reduce"], 4);
  p.expect_meaning(plan);
}

}  // namespace
}  // namespace spmd::testing
