#include "tests/ir/eval_testing.h"

namespace spmd::testing {
namespace {

using Doubles = std::vector<double>;

TEST(EvalIndexing, DynamicSliceClampsItsStart) {
  const auto sliced = [](int32_t start) {
    return doubles(
        apply(OpCode::kDynamicSlice, {counting({5}), s32({}, {start})}, DynamicSliceAttrs{{3}}));
  };
  EXPECT_EQ(sliced(1), (Doubles{1, 2, 3}));
  EXPECT_EQ(sliced(4), (Doubles{2, 3, 4}));
  EXPECT_EQ(sliced(-7), (Doubles{0, 1, 2}));
  // Unsigned indices are never negative.
  const Literal huge = Literal::of<uint64_t>({DType::kU64, {}}, {~uint64_t{0}});
  EXPECT_EQ(doubles(apply(OpCode::kDynamicSlice, {counting({5}), huge}, DynamicSliceAttrs{{3}})),
            (Doubles{2, 3, 4}));
}

TEST(EvalIndexing, DynamicUpdateSliceClampsItsStart) {
  const auto updated = [](int32_t row, int32_t column) {
    return doubles(apply(OpCode::kDynamicUpdateSlice, {counting({2, 3}), f32({1, 2}, {7, 8}),
                                                       s32({}, {row}), s32({}, {column})}));
  };
  EXPECT_EQ(updated(0, 1), (Doubles{0, 7, 8, 3, 4, 5}));
  EXPECT_EQ(updated(5, 5), (Doubles{0, 1, 2, 3, 7, 8}));
  EXPECT_EQ(updated(-1, -1), (Doubles{7, 8, 2, 3, 4, 5}));
}

TEST(EvalIndexing, ArgumentsAreNotOverwritten) {
  Program p;
  const Literal x = f32({2}, {1, 2});
  const ValueId operand = p.argument(x), update = p.argument(f32({1}, {9}));
  const ValueId start = p.argument(s32({}, {0}));
  const ValueId result = p.b.value(OpCode::kDynamicUpdateSlice, {operand, update, start});
  EXPECT_EQ(doubles(p.run({result})[0]), (Doubles{9, 2}));
  EXPECT_EQ(doubles(x), (Doubles{1, 2}));
}

// Rows of a table, as an embedding looks them up; starts out of range are clamped.
TEST(EvalIndexing, GatherRows) {
  GatherAttrs a;
  a.offset_dims = {1};
  a.collapsed_slice_dims = {0};
  a.start_index_map = {0};
  a.index_vector_dim = 1;
  a.slice_sizes = {1, 2};
  EXPECT_EQ(doubles(apply(OpCode::kGather, {counting({3, 2}), s32({4, 1}, {2, 0, 9, -1})}, a)),
            (Doubles{4, 5, 0, 1, 4, 5, 0, 1}));
  // The index vector may be implicit.
  EXPECT_EQ(doubles(apply(OpCode::kGather, {counting({3, 2}), s32({1}, {1})}, a)), (Doubles{2, 3}));
}

// Windows of size 2x2 at (row, column) pairs given column first.
TEST(EvalIndexing, GatherWindowsWithPermutedIndexMap) {
  GatherAttrs a;
  a.offset_dims = {1, 2};
  a.start_index_map = {1, 0};
  a.index_vector_dim = 0;
  a.slice_sizes = {2, 2};
  // Starts (row 0, column 1) and (row 5, column 2), the latter clamped to (1, 2).
  const Literal result = apply(OpCode::kGather, {counting({3, 4}), s32({2, 2}, {1, 2, 0, 5})}, a);
  EXPECT_EQ(doubles(result), (Doubles{1, 2, 5, 6, 6, 7, 10, 11}));
}

TEST(EvalIndexing, GatherWithBatchingDims) {
  GatherAttrs a;  // result[b, i] = operand[b, indices[b, i]]
  a.collapsed_slice_dims = {1};
  a.operand_batching_dims = {0};
  a.start_indices_batching_dims = {0};
  a.start_index_map = {1};
  a.index_vector_dim = 2;
  a.slice_sizes = {1, 1};
  EXPECT_EQ(doubles(apply(OpCode::kGather, {counting({2, 3}), s32({2, 2, 1}, {2, 0, 1, 1})}, a)),
            (Doubles{2, 0, 4, 4}));
}

Literal scattered(const Literal& x, const Literal& indices, const Literal& updates,
                  const ScatterAttrs& attrs, OpCode reducer) {
  Program p;
  const std::vector<ValueId> operands{p.argument(x), p.argument(indices), p.argument(updates)};
  const OpId op = p.b.create(OpCode::kScatter, operands, attrs);
  const DType dtype = x.type().dtype;
  if (reducer == OpCode::kReturn) {  // the update replaces
    p.region(op, {{dtype, {}}, {dtype, {}}},
             [](Builder&, const std::vector<ValueId>& a) { return std::vector<ValueId>{a[1]}; });
  } else {
    add_reducer_region(p.fn, op, reducer, dtype);
  }
  return p.run(p.fn.op(op).results)[0];
}

ScatterAttrs rows() {
  ScatterAttrs a;
  a.update_window_dims = {1};
  a.inserted_window_dims = {0};
  a.scatter_dims_to_operand_dims = {0};
  a.index_vector_dim = 1;
  return a;
}

TEST(EvalIndexing, ScatterAddsRepeatedIndicesAndDropsOthers) {
  const Literal x = f32({3, 2}, {0, 0, 10, 10, 20, 20});
  const Literal updates = f32({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Literal indices = s32({4, 1}, {1, 1, 3, -1});
  EXPECT_EQ(doubles(scattered(x, indices, updates, rows(), OpCode::kAdd)),
            (Doubles{0, 0, 14, 16, 20, 20}));
  EXPECT_EQ(doubles(scattered(x, indices, updates, rows(), OpCode::kReturn)),
            (Doubles{0, 0, 3, 4, 20, 20}));
}

TEST(EvalIndexing, ScatterDropsOnlyTheElementsOutside) {
  ScatterAttrs a;
  a.update_window_dims = {0};
  a.scatter_dims_to_operand_dims = {0};
  a.index_vector_dim = 0;
  const Literal x = f32({3}, {0, 0, 0}), window = f32({2}, {5, 6});
  EXPECT_EQ(doubles(scattered(x, s32({1}, {2}), window, a, OpCode::kAdd)), (Doubles{0, 0, 5}));
  EXPECT_EQ(doubles(scattered(x, s32({1}, {-1}), window, a, OpCode::kAdd)), (Doubles{6, 0, 0}));
  EXPECT_EQ(doubles(scattered(x, s32({1}, {-2147483647}), window, a, OpCode::kAdd)),
            (Doubles{0, 0, 0}));
}

TEST(EvalIndexing, ScatterWithBatchingDims) {
  ScatterAttrs a;  // operand[b, indices[b, i]] += updates[b, i]
  a.inserted_window_dims = {1};
  a.input_batching_dims = {0};
  a.scatter_indices_batching_dims = {0};
  a.scatter_dims_to_operand_dims = {1};
  a.index_vector_dim = 2;
  const Literal x = f32({2, 3}, {0, 0, 0, 0, 0, 0}), updates = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(doubles(scattered(x, s32({2, 2, 1}, {2, 0, 1, 1}), updates, a, OpCode::kAdd)),
            (Doubles{2, 0, 1, 0, 7, 0}));
}

TEST(EvalIndexing, ScatterOfNarrowFloatsRoundsOnce) {
  const Literal x = numbers(DType::kBF16, {256}), indices = s32({8, 1}, std::vector<int32_t>(8, 0));
  ScatterAttrs a;
  a.inserted_window_dims = {0};
  a.scatter_dims_to_operand_dims = {0};
  a.index_vector_dim = 1;
  const Literal ones = numbers(DType::kBF16, Doubles(8, 1.0));
  EXPECT_EQ(doubles(scattered(x, indices, ones, a, OpCode::kAdd)), Doubles{264});
}

}  // namespace
}  // namespace spmd::testing
