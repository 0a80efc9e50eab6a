#include <cmath>

#include "tests/ir/eval_testing.h"

namespace spmd::testing {
namespace {

using Doubles = std::vector<double>;

Literal reduced(const Literal& x, const Literal& init, Dims dims, OpCode reducer) {
  Program p;
  const ValueId operand = p.argument(x), start = p.argument(init);
  return p.run({p.b.reduce(operand, start, std::move(dims), reducer)})[0];
}

TEST(EvalReduction, AnyDimensions) {
  Literal x({DType::kF32, {2, 3, 4}});
  for (int i = 0; i < 24; ++i) x.mutable_as<float>()[i] = static_cast<float>(i);
  const Literal zero = f32({}, {0});
  EXPECT_EQ(doubles(reduced(x, zero, {0, 1, 2}, OpCode::kAdd)), Doubles{276});
  EXPECT_EQ(doubles(reduced(x, zero, {0, 2}, OpCode::kAdd)), (Doubles{60, 92, 124}));
  EXPECT_EQ(doubles(reduced(x, zero, {1}, OpCode::kAdd)),
            (Doubles{12, 15, 18, 21, 48, 51, 54, 57}));
  EXPECT_EQ(reduced(x, zero, {}, OpCode::kAdd), x);
}

TEST(EvalReduction, InitialValueCounts) {
  EXPECT_EQ(doubles(reduced(f32({2, 2}, {1, 2, 3, 4}), f32({}, {10}), {1}, OpCode::kAdd)),
            (Doubles{13, 17}));
  EXPECT_EQ(doubles(reduced(f32({2, 0}, {}), f32({}, {10}), {1}, OpCode::kMultiply)),
            (Doubles{10, 10}));
}

TEST(EvalReduction, Reducers) {
  const Literal x = s32({4}, {5, -3, 7, 2});
  EXPECT_EQ(doubles(reduced(x, s32({}, {-100}), {0}, OpCode::kMaximum)), Doubles{7});
  EXPECT_EQ(doubles(reduced(x, s32({}, {100}), {0}, OpCode::kMinimum)), Doubles{-3});
  EXPECT_EQ(doubles(reduced(x, s32({}, {1}), {0}, OpCode::kMultiply)), Doubles{-210});
  EXPECT_EQ(doubles(reduced(x, s32({}, {-1}), {0}, OpCode::kAnd)), Doubles{0});
  EXPECT_EQ(doubles(reduced(boolean({3}, {0, 1, 0}), boolean({}, {0}), {0}, OpCode::kOr)),
            Doubles{1});
  EXPECT_TRUE(std::isnan(
      reduced(f32({3}, {1, kNan, 2}), f32({}, {-kInf}), {0}, OpCode::kMaximum).as_double(0)));
}

TEST(EvalReduction, NarrowFloatsSumInFloat32) {
  // In bf16 steps the sum would stop at 256.
  const Literal x = Literal::splat({DType::kBF16, {1000}}, 1.0);
  EXPECT_EQ(doubles(reduced(x, numbers(DType::kBF16, {0}).reshaped({}), {0}, OpCode::kAdd)),
            Doubles{1000});
}

TEST(EvalReduction, SplatOperand) {
  EXPECT_EQ(
      doubles(reduced(Literal::splat({DType::kF32, {3, 5}}, 2.0), f32({}, {1}), {1}, OpCode::kAdd)),
      (Doubles{11, 11, 11}));
}

// Two operands, value and index: the greatest value, the first of equals.
TEST(EvalReduction, ArgumentOfTheMaximum) {
  Program p;
  const ValueId values = p.argument(f32({2, 3}, {1, 9, 9, 4, 2, 3}));
  const ValueId indices = p.argument(s32({2, 3}, {0, 1, 2, 0, 1, 2}));
  const ValueId low = p.argument(f32({}, {-kInf})), zero = p.argument(s32({}, {0}));
  const OpId op = p.b.create(OpCode::kReduce, {values, indices, low, zero}, ReduceAttrs{{1}});
  const TensorType value{DType::kF32, {}}, index{DType::kS32, {}};
  p.region(op, {value, index, value, index}, [](Builder& b, const std::vector<ValueId>& a) {
    const ValueId keep = b.compare(CompareDirection::kGe, a[0], a[2]);
    return std::vector<ValueId>{b.select(keep, a[0], a[2]), b.select(keep, a[1], a[3])};
  });
  const auto results = p.run(p.fn.op(op).results);
  EXPECT_EQ(doubles(results[0]), (Doubles{9, 4}));
  EXPECT_EQ(doubles(results[1]), (Doubles{1, 0}));
}

// A region may read values of the function around it.
TEST(EvalReduction, RegionReadsOuterValue) {
  Program p;
  const ValueId x = p.argument(f32({3}, {1, 2, 3})), zero = p.argument(f32({}, {0}));
  const ValueId factor = p.argument(f32({}, {10}));
  const OpId op = p.b.create(OpCode::kReduce, {x, zero}, ReduceAttrs{{0}});
  const TensorType scalar{DType::kF32, {}};
  p.region(op, {scalar, scalar}, [&](Builder& b, const std::vector<ValueId>& a) {
    const ValueId scaled = b.binary(OpCode::kMultiply, a[1], factor);
    return std::vector<ValueId>{b.binary(OpCode::kAdd, a[0], scaled)};
  });
  EXPECT_EQ(doubles(p.run(p.fn.op(op).results)[0]), Doubles{60});
}

}  // namespace
}  // namespace spmd::testing
