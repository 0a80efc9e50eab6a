#include "tests/ir/eval_testing.h"

namespace spmd::testing {
namespace {

using Doubles = std::vector<double>;

WindowAttrs window(Dims size) {
  const size_t rank = size.size();
  WindowAttrs w;
  w.size = std::move(size);
  w.stride = w.base_dilation = w.window_dilation = Dims(rank, 1);
  w.pad_low = w.pad_high = Dims(rank, 0);
  return w;
}

Literal windowed(const Literal& x, double init, const WindowAttrs& attrs, OpCode reducer) {
  Program p;
  const ValueId operand = p.argument(x);
  const ValueId start = p.argument(Literal::splat({x.type().dtype, {}}, init));
  const OpId op = p.b.create(OpCode::kReduceWindow, {operand, start}, attrs);
  add_reducer_region(p.fn, op, reducer, x.type().dtype);
  return p.run(p.fn.op(op).results)[0];
}

TEST(EvalWindow, ReduceWindowAttributes) {
  const Literal x = f32({5}, {1, 2, 3, 4, 5});
  WindowAttrs w = window({2});
  EXPECT_EQ(doubles(windowed(x, 0, w, OpCode::kAdd)), (Doubles{3, 5, 7, 9}));
  EXPECT_EQ(doubles(windowed(x, 100, w, OpCode::kAdd)), (Doubles{103, 105, 107, 109}));
  w.stride = {2};
  EXPECT_EQ(doubles(windowed(x, 0, w, OpCode::kAdd)), (Doubles{3, 7}));
  w = window({3});
  w.window_dilation = {2};
  EXPECT_EQ(doubles(windowed(x, 0, w, OpCode::kAdd)), Doubles{9});
  w = window({2});
  w.base_dilation = {2};  // 1 . 2 . 3 . 4 . 5
  EXPECT_EQ(doubles(windowed(x, 0, w, OpCode::kAdd)), (Doubles{1, 2, 2, 3, 3, 4, 4, 5}));
  w = window({3});
  w.base_dilation = {2};
  w.stride = {2};
  EXPECT_EQ(doubles(windowed(x, 0, w, OpCode::kAdd)), (Doubles{3, 5, 7, 9}));
  w = window({2});
  w.pad_low = {1};
  w.pad_high = {-1};
  EXPECT_EQ(doubles(windowed(x, 0, w, OpCode::kAdd)), (Doubles{1, 3, 5, 7}));
}

// A running sum, as JAX writes cumsum.
TEST(EvalWindow, CumulativeSum) {
  WindowAttrs w = window({1, 3});
  w.pad_low = {0, 2};
  EXPECT_EQ(doubles(windowed(f32({2, 3}, {1, 2, 3, 4, 5, 6}), 0, w, OpCode::kAdd)),
            (Doubles{1, 3, 6, 4, 9, 15}));
}

TEST(EvalWindow, MaximumPooling) {
  WindowAttrs w = window({2, 2});
  w.stride = {2, 2};
  const Literal x = f32({2, 4}, {1, 5, 2, 0, 3, 4, -1, 7});
  EXPECT_EQ(doubles(windowed(x, -kInf, w, OpCode::kMaximum)), (Doubles{5, 7}));
}

TEST(EvalWindow, NarrowFloatsSumInFloat32) {
  WindowAttrs w = window({1000});
  EXPECT_EQ(doubles(windowed(Literal::splat({DType::kBF16, {1000}}, 1.0), 0, w, OpCode::kAdd)),
            Doubles{1000});
}

// The gradient of max pooling: each source element goes to the first greatest of its window.
TEST(EvalWindow, SelectAndScatter) {
  Program p;
  const ValueId operand = p.argument(f32({5}, {3, 1, 3, 9, 2}));
  const ValueId source = p.argument(f32({3}, {10, 20, 30})), init = p.argument(f32({}, {1}));
  WindowAttrs w = window({3});
  const OpId op = p.b.create(OpCode::kSelectAndScatter, {operand, source, init}, w);
  const TensorType scalar{DType::kF32, {}};
  p.region(op, {scalar, scalar}, [](Builder& b, const std::vector<ValueId>& a) {
    return std::vector<ValueId>{b.compare(CompareDirection::kGe, a[0], a[1])};
  });
  add_reducer_region(p.fn, op, OpCode::kAdd, DType::kF32);
  // Windows 3 1 3, 1 3 9, 3 9 2.
  EXPECT_EQ(doubles(p.run(p.fn.op(op).results)[0]), (Doubles{11, 1, 1, 51, 1}));
}

TEST(EvalWindow, SelectAndScatterIgnoresPadding) {
  Program p;
  const ValueId operand = p.argument(f32({2}, {-5, -7}));
  const ValueId source = p.argument(f32({2}, {1, 2})), init = p.argument(f32({}, {0}));
  WindowAttrs w = window({2});
  w.stride = {2};
  w.pad_low = w.pad_high = {1};
  const OpId op = p.b.create(OpCode::kSelectAndScatter, {operand, source, init}, w);
  const TensorType scalar{DType::kF32, {}};
  p.region(op, {scalar, scalar}, [](Builder& b, const std::vector<ValueId>& a) {
    return std::vector<ValueId>{b.compare(CompareDirection::kGe, a[0], a[1])};
  });
  add_reducer_region(p.fn, op, OpCode::kAdd, DType::kF32);
  EXPECT_EQ(doubles(p.run(p.fn.op(op).results)[0]), (Doubles{1, 2}));
}

}  // namespace
}  // namespace spmd::testing
