#include <cmath>

#include "tests/ir/eval_testing.h"

namespace spmd::testing {
namespace {

using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;

std::vector<Literal> sorted(const std::vector<Literal>& operands, int64_t dim,
                            CompareAttrs compare) {
  Program p;
  std::vector<ValueId> values;
  std::vector<TensorType> types;
  for (const Literal& operand : operands) {
    values.push_back(p.argument(operand));
    types.insert(types.end(), 2, operand.type().with_shape({}));
  }
  const OpId op = p.b.create(OpCode::kSort, values, SortAttrs{dim, true});
  p.region(op, types, [&](Builder& b, const std::vector<ValueId>& a) {
    return std::vector<ValueId>{b.value(OpCode::kCompare, {a[0], a[1]}, compare)};
  });
  return p.run(p.fn.op(op).results);
}

TEST(EvalOrdering, SortAlongEitherDimension) {
  const Literal x = f32({2, 3}, {3, 1, 2, 0, 5, 4});
  const CompareAttrs less{CompareDirection::kLt, CompareType::kFloat};
  EXPECT_EQ(doubles(sorted({x}, 1, less)[0]), (Doubles{1, 2, 3, 0, 4, 5}));
  EXPECT_EQ(doubles(sorted({x}, 0, less)[0]), (Doubles{0, 1, 2, 3, 5, 4}));
}

TEST(EvalOrdering, SortIsStableAndCarriesOtherOperands) {
  const Literal keys = s32({6}, {2, 1, 2, 1, 2, 0}), index = s32({6}, {0, 1, 2, 3, 4, 5});
  const auto result = sorted({keys, index}, 0, {CompareDirection::kLt, CompareType::kSigned});
  EXPECT_EQ(ints(result[0]), (Ints{0, 1, 1, 2, 2, 2}));
  EXPECT_EQ(ints(result[1]), (Ints{5, 1, 3, 0, 2, 4}));
}

TEST(EvalOrdering, TotalOrderPutsNanLast) {
  const Literal x = f32({4}, {kNan, 1, -kInf, kInf});
  const Doubles y = doubles(sorted({x}, 0, {CompareDirection::kLt, CompareType::kTotalOrder})[0]);
  EXPECT_EQ(Doubles(y.begin(), y.end() - 1), (Doubles{-kInf, 1, kInf}));
  EXPECT_TRUE(std::isnan(y[3]));
}

// "greater or equal" is no strict order; the result need only be safe and a permutation.
TEST(EvalOrdering, ComparatorThatIsNoOrder) {
  const Literal x = s32({5}, {1, 1, 1, 1, 1});
  EXPECT_EQ(ints(sorted({x}, 0, {CompareDirection::kGe, CompareType::kSigned})[0]), Ints(5, 1));
}

TEST(EvalOrdering, TopK) {
  Program p;
  const ValueId x = p.argument(f32({2, 4}, {1, 7, 7, 3, 2, kNan, kInf, -1}));
  const OpId op = p.b.create(OpCode::kTopK, {x}, TopKAttrs{3});
  const auto result = p.run(p.fn.op(op).results);
  EXPECT_EQ(ints(result[1]), (Ints{1, 2, 3, 1, 2, 0}));
  EXPECT_EQ(result[0].as_double(0), 7);
  EXPECT_TRUE(std::isnan(result[0].as_double(3)));
  EXPECT_EQ(result[0].as_double(4), kInf);
}

TEST(EvalOrdering, TopKOfIntegersAndNarrowFloats) {
  for (DType dtype : {DType::kS8, DType::kBF16, DType::kU32}) {
    Program p;
    const OpId op =
        p.b.create(OpCode::kTopK, {p.argument(numbers(dtype, {3, 9, 4}))}, TopKAttrs{2});
    const auto result = p.run(p.fn.op(op).results);
    EXPECT_EQ(doubles(result[0]), (Doubles{9, 4}));
    EXPECT_EQ(ints(result[1]), (Ints{1, 2}));
  }
}

}  // namespace
}  // namespace spmd::testing
