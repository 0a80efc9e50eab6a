#include "support/error.h"
#include "tests/ir/eval_testing.h"
#include "tests/support/error_of.h"

namespace spmd::testing {
namespace {

using Doubles = std::vector<double>;
using ByRank = std::vector<Doubles>;

const TensorType kPair{DType::kF32, {2}};

// Runs a program of one argument and one result: rank r is given {10 r, 10 r + 1}.
ByRank run_on(Program& p, ValueId result) {
  p.returns({result});
  std::vector<std::vector<Literal>> arguments;
  for (int64_t r = 0; r < p.module.mesh.num_devices(); ++r) {
    const auto value = static_cast<float>(10 * r);
    arguments.push_back({f32({2}, {value, value + 1})});
  }
  ByRank results;
  for (const auto& values : evaluate_ranks(p.module, arguments)) {
    results.push_back(doubles(values[0]));
  }
  return results;
}

ValueId collective(Program& p, OpCode code, ValueId operand, TensorType type, Attrs attrs) {
  const OpId op = p.b.create(code, {operand}, {std::move(type)}, std::move(attrs));
  return p.fn.op(op).results[0];
}

ValueId all_reduce(Program& p, ValueId operand, CollectiveGroups groups, OpCode reducer) {
  const OpId op = p.b.create(OpCode::kAllReduce, {operand}, AllReduceAttrs{std::move(groups)});
  add_reducer_region(p.fn, op, reducer, p.fn.type(operand).dtype);
  return p.fn.op(op).results[0];
}

CollectiveGroups along(std::vector<int> axes) {
  CollectiveGroups groups;
  for (int axis : axes) groups.axes.push_back({axis, 1, 0});
  return groups;
}

TEST(EvalCollective, AllReduceAlongAxes) {
  const auto summed = [](std::vector<int> axes) {
    Program p;
    p.module.mesh = Mesh({{"x", 2}, {"y", 2}});
    return run_on(
        p, all_reduce(p, p.argument(f32({2}, {0, 0})), along(std::move(axes)), OpCode::kAdd));
  };
  EXPECT_EQ(summed({0, 1}), ByRank(4, Doubles{60, 64}));
  EXPECT_EQ(summed({1}), (ByRank{{10, 12}, {10, 12}, {50, 52}, {50, 52}}));
  EXPECT_EQ(summed({0}), (ByRank{{20, 22}, {40, 42}, {20, 22}, {40, 42}}));
  EXPECT_EQ(summed({}), (ByRank{{0, 1}, {10, 11}, {20, 21}, {30, 31}}));
}

TEST(EvalCollective, AllReduceInExplicitGroups) {
  Program p;
  p.module.mesh = Mesh({{"x", 4}});
  CollectiveGroups groups;
  groups.explicit_groups = {{0, 3}, {2, 1}};
  EXPECT_EQ(run_on(p, all_reduce(p, p.argument(f32({2}, {0, 0})), groups, OpCode::kMaximum)),
            (ByRank{{30, 31}, {20, 21}, {20, 21}, {30, 31}}));
}

TEST(EvalCollective, SubAxesAndDeviceOrder) {
  // x = 4 read as [2, 2]: the major factor groups devices 0, 2 and 1, 3.
  Program p;
  p.module.mesh = Mesh({{"x", 4}});
  CollectiveGroups major;
  major.axes = {{0, 1, 2}};
  EXPECT_EQ(run_on(p, all_reduce(p, p.argument(f32({2}, {0, 0})), major, OpCode::kAdd)),
            (ByRank{{20, 22}, {40, 42}, {20, 22}, {40, 42}}));
  // Devices in another order: position 0 is device 2, ...
  Program q;
  q.module.mesh = Mesh({{"x", 2}, {"y", 2}}, {2, 0, 3, 1});
  EXPECT_EQ(run_on(q, all_reduce(q, q.argument(f32({2}, {0, 0})), along({1}), OpCode::kAdd)),
            (ByRank{{20, 22}, {40, 42}, {20, 22}, {40, 42}}));
}

// Rounding each partial sum to bf16 would give 256.
TEST(EvalCollective, NarrowFloatsSumInFloat32) {
  Program p;
  p.module.mesh = Mesh({{"x", 3}});
  const ValueId x = p.argument(numbers(DType::kBF16, {0}));
  const ValueId sum = all_reduce(p, x, along({0}), OpCode::kAdd);
  p.returns({sum});
  const std::vector<std::vector<Literal>> arguments{
      {numbers(DType::kBF16, {256})}, {numbers(DType::kBF16, {1})}, {numbers(DType::kBF16, {1})}};
  EXPECT_EQ(doubles(evaluate_ranks(p.module, arguments)[2][0]), Doubles{258});
}

TEST(EvalCollective, AllReduceWithAnyComputation) {
  Program p;
  p.module.mesh = Mesh({{"x", 3}});
  const ValueId x = p.argument(f32({2}, {0, 0}));
  const OpId op = p.b.create(OpCode::kAllReduce, {x}, AllReduceAttrs{along({0})});
  const TensorType scalar{DType::kF32, {}};
  // In rank order: ((a0 - a1) - a2).
  p.region(op, {scalar, scalar}, [](Builder& b, const std::vector<ValueId>& a) {
    return std::vector<ValueId>{b.binary(OpCode::kSubtract, a[0], a[1])};
  });
  EXPECT_EQ(run_on(p, p.fn.op(op).results[0]), ByRank(3, Doubles{-30, -31}));
}

TEST(EvalCollective, AllGatherAndReduceScatter) {
  Program p;
  p.module.mesh = Mesh({{"x", 2}});
  EXPECT_EQ(run_on(p, collective(p, OpCode::kAllGather, p.argument(f32({2}, {0, 0})),
                                 {DType::kF32, {4}}, AllGatherAttrs{0, along({0})})),
            ByRank(2, Doubles{0, 1, 10, 11}));
  Program q;
  q.module.mesh = Mesh({{"x", 2}});
  const ValueId sum = collective(q, OpCode::kReduceScatter, q.argument(f32({2}, {0, 0})),
                                 {DType::kF32, {1}}, ReduceScatterAttrs{0, along({0})});
  add_reducer_region(q.fn, q.fn.value(sum).def, OpCode::kAdd, DType::kF32);
  EXPECT_EQ(run_on(q, sum), (ByRank{{10}, {12}}));
}

TEST(EvalCollective, AllToAll) {
  Program p;
  p.module.mesh = Mesh({{"x", 2}});
  const ValueId column = p.b.reshape(p.argument(f32({2}, {0, 0})), {2, 1});
  const ValueId exchanged = collective(p, OpCode::kAllToAll, column, {DType::kF32, {1, 2}},
                                       AllToAllAttrs{0, 1, along({0})});
  EXPECT_EQ(run_on(p, exchanged), (ByRank{{0, 10}, {1, 11}}));
}

TEST(EvalCollective, CollectivePermute) {
  const auto permuted = [](CollectivePermuteAttrs attrs) {
    Program p;
    p.module.mesh = Mesh({{"x", 2}, {"y", 2}});
    return run_on(p, collective(p, OpCode::kCollectivePermute, p.argument(f32({2}, {0, 0})), kPair,
                                std::move(attrs)));
  };
  // By device numbers; who receives nothing gets zeros.
  EXPECT_EQ(permuted({{}, {{0, 3}, {3, 1}}}), (ByRank{{0, 0}, {30, 31}, {0, 0}, {0, 1}}));
  // Along x, in both groups.
  EXPECT_EQ(permuted({{{0, 1, 0}}, {{0, 1}}}), (ByRank{{0, 0}, {0, 0}, {0, 1}, {10, 11}}));
  EXPECT_NE(error_of([&] {
              permuted({{}, {{0, 1}, {2, 1}}});
            }).find("two pairs"),
            std::string::npos);
  EXPECT_NE(error_of([&] { permuted({{}, {{0, 4}}}); }).find("no device 4"), std::string::npos);
}

TEST(EvalCollective, AxisIndexAndPartitionId) {
  const auto numbered = [](bool partition) {
    Program p;
    p.module.mesh = Mesh({{"x", 2}, {"y", 3}});
    p.argument(f32({2}, {0, 0}));
    return run_on(p, partition ? p.b.value(OpCode::kPartitionId, {})
                               : p.b.value(OpCode::kAxisIndex, {}, AxisIndexAttrs{{{1, 1, 0}}}));
  };
  EXPECT_EQ(numbered(false), (ByRank{{0}, {1}, {2}, {0}, {1}, {2}}));
  EXPECT_EQ(numbered(true), (ByRank{{0}, {1}, {2}, {3}, {4}, {5}}));
}

TEST(EvalCollective, RanksMustAgreeOnPredicates) {
  Program p;
  p.module.mesh = Mesh({{"x", 2}});
  p.argument(f32({2}, {0, 0}));
  const ValueId rank = p.b.value(OpCode::kAxisIndex, {}, AxisIndexAttrs{{{0, 1, 0}}});
  const ValueId first = p.b.compare(CompareDirection::kEq, rank, p.b.scalar(DType::kS32, 0));
  const OpId op = p.b.create(OpCode::kIf, {first}, {{DType::kF32, {}}});
  for (int i = 0; i < 2; ++i) {
    p.region(op, {}, [i](Builder& b, const std::vector<ValueId>&) {
      return std::vector<ValueId>{b.scalar(DType::kF32, i)};
    });
  }
  const std::string message = error_of([&] { run_on(p, p.fn.op(op).results[0]); });
  EXPECT_NE(message.find("stablehlo.if"), std::string::npos) << message;
  EXPECT_NE(message.find("1 on rank 0 but 0 on rank 1"), std::string::npos) << message;
}

TEST(EvalCollective, CollectiveOnGlobalValuesIsAnError) {
  Program p;
  p.module.mesh = Mesh({{"x", 2}});
  const ValueId sum = all_reduce(p, p.argument(f32({2}, {0, 0})), along({0}), OpCode::kAdd);
  EXPECT_NE(error_of([&] { p.run({sum}); }).find("axis \"x\""), std::string::npos);
}

TEST(EvalCollective, ConstraintsChangeNothing) {
  Program p;
  p.module.mesh = Mesh({{"x", 2}});
  const ValueId x = p.argument(f32({2}, {3, 4}));
  const ValueId placed = p.b.value(OpCode::kReshard, {x}, ReshardAttrs{Sharding::replicate(1)});
  EXPECT_EQ(doubles(p.run({placed})[0]), (Doubles{3, 4}));
}

// x of size 4 is cut along `x`; the region scales by the axis index, and sums over the axis.
struct Manual {
  explicit Manual(int64_t size, AxisList manual_axes = {{0, 1, 0}}) {
    p.module.mesh = Mesh({{"x", 2}, {"y", 2}});
    Literal x({DType::kF32, {size}});
    for (int64_t i = 0; i < size; ++i) x.mutable_as<float>()[i] = static_cast<float>(i + 1);
    const ValueId operand = p.argument(x);
    Sharding cut = Sharding::replicate(1);
    cut.dims[0].axes = {{0, 1, 0}};
    op = p.b.create(OpCode::kManualComputation, {operand},
                    {x.type(), x.type().with_shape({size / 2})},
                    ManualComputationAttrs{{cut}, {cut, Sharding::replicate(1)}, manual_axes});
    const TensorType local = x.type().with_shape({size / 2});
    p.region(op, {local}, [&](Builder& b, const std::vector<ValueId>& a) {
      const ValueId index = b.value(OpCode::kAxisIndex, {}, AxisIndexAttrs{{{0, 1, 0}}});
      const ValueId factor = b.broadcast(b.convert(index, DType::kF32), local.shape, {});
      const OpId sum = b.create(OpCode::kAllReduce, {a[0]}, AllReduceAttrs{along({0})});
      add_reducer_region(p.fn, sum, OpCode::kAdd, DType::kF32);
      return std::vector<ValueId>{b.binary(OpCode::kMultiply, a[0], factor),
                                  p.fn.op(sum).results[0]};
    });
  }
  std::vector<Literal> run() { return p.run(p.fn.op(op).results); }

  Program p;
  OpId op;
};

TEST(EvalCollective, ManualComputationRunsOnPretendRanks) {
  const auto results = Manual(4).run();
  EXPECT_EQ(doubles(results[0]), (Doubles{0, 0, 3, 4}));
  EXPECT_EQ(doubles(results[1]), (Doubles{4, 6}));
}

TEST(EvalCollective, ManualComputationOverAllAxes) {
  const auto results = Manual(4, {{0, 1, 0}, {1, 1, 0}}).run();
  EXPECT_EQ(doubles(results[0]), (Doubles{0, 0, 3, 4}));
  EXPECT_EQ(doubles(results[1]), (Doubles{4, 6}));
}

TEST(EvalCollective, ManualComputationNeedsSizesThatDivide) {
  EXPECT_NE(error_of([] { Manual(5).run(); }).find("2 equal parts"), std::string::npos);
}

// Equal inputs stay one literal, so a partitioned program costs no more than its differing parts.
TEST(EvalCollective, EqualValuesAreSharedByRanks) {
  Program p;
  p.module.mesh = Mesh({{"x", 4}});
  const ValueId x = p.argument(f32({2}, {1, 2}));
  p.returns({p.b.binary(OpCode::kAdd, x, x)});
  const std::vector<std::vector<Literal>> arguments(4, {p.arguments[0]});
  const auto results = evaluate_ranks(p.module, arguments);
  EXPECT_EQ(results[0][0].data(), results[3][0].data());
  EXPECT_EQ(doubles(results[3][0]), (Doubles{2, 4}));
}

}  // namespace
}  // namespace spmd::testing
