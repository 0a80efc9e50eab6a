#include "support/error.h"
#include "tests/ir/eval_testing.h"
#include "tests/support/error_of.h"

namespace spmd::testing {
namespace {

using Doubles = std::vector<double>;

const TensorType kIndex{DType::kS32, {}};
const TensorType kScalar{DType::kF32, {}};

// Sums 0 + 1 + ... + n-1 and stacks the partial sums with dynamic_update_slice.
TEST(EvalControlFlow, WhileCarriesAndStacks) {
  Program p;
  const ValueId n = p.argument(s32({}, {4}));
  const ValueId zero = p.b.scalar(DType::kS32, 0), sum = p.b.scalar(DType::kS32, 0);
  const ValueId stack = p.b.splat({DType::kS32, {4}}, -1);
  const OpId loop = p.b.create(OpCode::kWhile, {zero, sum, stack});
  const std::vector<TensorType> types{kIndex, kIndex, {DType::kS32, {4}}};
  p.region(loop, types, [&](Builder& b, const std::vector<ValueId>& a) {
    return std::vector<ValueId>{b.compare(CompareDirection::kLt, a[0], n)};
  });
  p.region(loop, types, [&](Builder& b, const std::vector<ValueId>& a) {
    const ValueId total = b.binary(OpCode::kAdd, a[1], a[0]);
    const ValueId row = b.reshape(total, {1});
    const ValueId rows = b.value(OpCode::kDynamicUpdateSlice, {a[2], row, a[0]});
    return std::vector<ValueId>{b.binary(OpCode::kAdd, a[0], b.scalar(DType::kS32, 1)), total,
                                rows};
  });
  const auto results = p.run(p.fn.op(loop).results);
  EXPECT_EQ(results[1].as_int(0), 6);
  EXPECT_EQ(ints(results[2]), (std::vector<int64_t>{0, 1, 3, 6}));
}

// A carried value that swaps with another each trip is not overwritten in place.
TEST(EvalControlFlow, WhileSwapsCarries) {
  Program p;
  const ValueId i = p.b.scalar(DType::kS32, 0);
  const ValueId x = p.argument(f32({2}, {1, 2})), y = p.argument(f32({2}, {3, 4}));
  const OpId loop = p.b.create(OpCode::kWhile, {i, x, y});
  const std::vector<TensorType> types{kIndex, {DType::kF32, {2}}, {DType::kF32, {2}}};
  p.region(loop, types, [&](Builder& b, const std::vector<ValueId>& a) {
    return std::vector<ValueId>{b.compare(CompareDirection::kLt, a[0], b.scalar(DType::kS32, 3))};
  });
  p.region(loop, types, [&](Builder& b, const std::vector<ValueId>& a) {
    const ValueId mark = b.splat({DType::kF32, {1}}, 9);
    const ValueId marked = b.value(OpCode::kDynamicUpdateSlice, {a[1], mark, a[0]});
    return std::vector<ValueId>{b.binary(OpCode::kAdd, a[0], b.scalar(DType::kS32, 1)), a[2],
                                marked};
  });
  const auto results = p.run(p.fn.op(loop).results);
  EXPECT_EQ(doubles(results[1]), (Doubles{3, 9}));
  EXPECT_EQ(doubles(results[2]), (Doubles{9, 9}));
}

double chosen(OpCode code, const Literal& index, int branches) {
  Program p;
  const ValueId selector = p.argument(index);
  const OpId op = p.b.create(code, {selector}, {kScalar});
  for (int i = 0; i < branches; ++i) {
    p.region(op, {}, [i](Builder& b, const std::vector<ValueId>&) {
      return std::vector<ValueId>{b.scalar(DType::kF32, 10 * i)};
    });
  }
  return p.run(p.fn.op(op).results)[0].as_double(0);
}

TEST(EvalControlFlow, Branches) {
  EXPECT_EQ(chosen(OpCode::kIf, boolean({}, {1}), 2), 0);
  EXPECT_EQ(chosen(OpCode::kIf, boolean({}, {0}), 2), 10);
  EXPECT_EQ(chosen(OpCode::kCase, s32({}, {1}), 3), 10);
  // Out of range, either side, means the last.
  EXPECT_EQ(chosen(OpCode::kCase, s32({}, {3}), 3), 20);
  EXPECT_EQ(chosen(OpCode::kCase, s32({}, {-1}), 3), 20);
}

TEST(EvalControlFlow, CallsHaveValuesOfTheirOwn) {
  Program p;
  const int index = p.module.add_function("twice");
  Function& twice = p.module.function(index);
  const ValueId x = twice.add_block_argument(twice.body(), kScalar);
  twice.argument_info.resize(1);
  twice.result_info.resize(1);
  Builder inner(twice, twice.body());
  inner.return_op({inner.binary(OpCode::kAdd, x, x)});
  const ValueId argument = p.argument(f32({}, {3}));
  const auto call = [&](ValueId operand) {
    return p.fn.op(p.b.create(OpCode::kCall, {operand}, {kScalar}, CallAttrs{index})).results[0];
  };
  EXPECT_EQ(p.run({call(call(argument))})[0].as_double(0), 12);
}

TEST(EvalControlFlow, RecursionIsAnError) {
  Program p;
  const int index = p.module.add_function("forever");
  Function& forever = p.module.function(index);
  forever.argument_info.resize(1);
  forever.result_info.resize(1);
  const ValueId x = forever.add_block_argument(forever.body(), kScalar);
  Builder inner(forever, forever.body());
  const OpId self = inner.create(OpCode::kCall, {x}, {kScalar}, CallAttrs{index});
  inner.return_op(forever.op(self).results);
  const OpId call =
      p.b.create(OpCode::kCall, {p.argument(f32({}, {0}))}, {kScalar}, CallAttrs{index});
  EXPECT_NE(error_of([&] { p.run(p.fn.op(call).results); }).find("@forever"), std::string::npos);
}

TEST(EvalControlFlow, CustomCalls) {
  const auto called = [](const std::string& target) {
    CustomCallAttrs attrs;
    attrs.target = target;
    return apply_to(OpCode::kCustomCall, {f32({}, {5})}, kScalar, attrs).as_double(0);
  };
  EXPECT_EQ(called("Sharding"), 5);
  EXPECT_NE(error_of([&] { called("lapack_sgetrf"); }).find("\"lapack_sgetrf\""),
            std::string::npos);
}

TEST(EvalControlFlow, ArgumentsMustMatch) {
  Program p;
  p.returns({p.argument(f32({2}, {1, 2}))});
  EXPECT_NE(error_of([&] { evaluate(p.module, {}); }).find("0 arguments"), std::string::npos);
  const std::vector<Literal> wrong{f32({3}, {1, 2, 3})};
  EXPECT_NE(error_of([&] { evaluate(p.module, wrong); }).find("argument 0 is tensor<3xf32>"),
            std::string::npos);
}

TEST(EvalControlFlow, EvaluateOneOp) {
  Program p;
  const ValueId x = p.argument(f32({2}, {1, 2})), zero = p.argument(f32({}, {0}));
  const ValueId sum = p.b.reduce(p.b.binary(OpCode::kAdd, x, x), zero, {0}, OpCode::kAdd);
  p.returns({sum});
  const std::vector<Literal> operands{f32({2}, {5, 6}), f32({}, {1})};
  const OpId reduce = p.fn.value(sum).def;
  EXPECT_EQ(evaluate_op(p.module, p.fn, reduce, operands)[0].as_double(0), 12);
  // An operand used twice.
  const OpId add = p.fn.value(p.fn.op(reduce).operands[0]).def;
  const std::vector<Literal> same{f32({2}, {5, 6}), f32({2}, {5, 6})};
  EXPECT_EQ(doubles(evaluate_op(p.module, p.fn, add, same)[0]), (Doubles{10, 12}));
}

}  // namespace
}  // namespace spmd::testing
