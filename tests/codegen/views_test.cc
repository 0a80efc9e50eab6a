#include "codegen/views.h"

#include "gtest/gtest.h"

namespace spmd::codegen {
namespace {

View strided(Dims shape, Dims strides, int64_t offset = 0) {
  return {0, DType::kF32, offset, std::move(shape), std::move(strides)};
}

TEST(Views, ReshapeIsAViewExactlyWhenStridesAllow) {
  struct Row {
    Dims shape, strides, to;
    std::optional<Dims> expected;
  };
  const std::vector<Row> rows = {
      {{2, 3, 4}, {12, 4, 1}, {6, 4}, Dims{4, 1}},
      {{2, 3, 4}, {12, 4, 1}, {24}, Dims{1}},
      {{6, 4}, {4, 1}, {2, 3, 2, 2}, Dims{12, 4, 2, 1}},
      {{4, 6}, {1, 4}, {2, 2, 6}, Dims{2, 1, 4}},  // transposed: splitting is always possible
      {{4, 6}, {1, 4}, {24}, std::nullopt},        // joining is not
      {{4, 6}, {6, 1}, {6, 4}, Dims{4, 1}},
      {{3, 4}, {8, 1}, {12}, std::nullopt},  // rows with gaps
      {{3, 4}, {8, 2}, {12}, Dims{2}},
      {{3, 4}, {0, 0}, {2, 6}, Dims{0, 0}},
      {{3, 4}, {0, 1}, {3, 2, 2}, Dims{0, 2, 1}},
      {{3, 4}, {0, 1}, {12}, std::nullopt},
      {{5}, {-1}, {5, 1}, Dims{-1, -1}},
  };
  for (const Row& row : rows) {
    const std::optional<View> view = reshaped(strided(row.shape, row.strides), row.to);
    ASSERT_EQ(view.has_value(), row.expected.has_value()) << ::testing::PrintToString(row.to);
    if (!view) continue;
    for (size_t d = 0; d < row.to.size(); ++d)
      if (row.to[d] != 1) {
        EXPECT_EQ(view->strides[d], (*row.expected)[d]);
      }
  }
}

TEST(Views, CommonRefinement) {
  EXPECT_EQ(common_refinement({6, 4}, {2, 12}), (Dims{2, 3, 4}));
  EXPECT_EQ(common_refinement({6, 4}, {4, 6}), std::nullopt);
  EXPECT_EQ(common_refinement({8, 1, 3}, {24}), (Dims{8, 3}));
  EXPECT_EQ(common_refinement({}, {1, 1}), Dims{});
  EXPECT_EQ(common_refinement({12}, {3, 4}), (Dims{3, 4}));
}

TEST(Views, StridesOnARefinement) {
  EXPECT_EQ(strides_on(strided({6, 1, 4}, {1, 9, 6}), {2, 3, 4}), (Dims{3, 1, 6}));
  EXPECT_EQ(strides_on(strided({24}, {-1}, 23), {6, 4}), (Dims{-4, -1}));
}

TEST(Views, CollapseJoinsWhatAllOperandsWalkAsOne) {
  Dims shape = {2, 1, 3, 4};
  Dims a = {12, 7, 4, 1}, b = {0, 0, 4, 1};
  collapse(shape, {&a, &b});
  EXPECT_EQ(shape, (Dims{2, 12}));
  EXPECT_EQ(a, (Dims{12, 1}));
  EXPECT_EQ(b, (Dims{0, 1}));
}

TEST(Views, SliceTransposeReverseBroadcast) {
  View view = strided({4, 6}, {6, 1});
  view = sliced(view, {1, 0}, {4, 6}, {2, 3});
  EXPECT_EQ(view, strided({2, 2}, {12, 3}, 6));
  view = transposed(view, {1, 0});
  EXPECT_EQ(view, strided({2, 2}, {3, 12}, 6));
  view = reversed(view, {0});
  EXPECT_EQ(view, strided({2, 2}, {-3, 12}, 9));
  EXPECT_EQ(broadcasted(view, {2, 5, 2}, {0, 2}), strided({2, 5, 2}, {-3, 0, 12}, 9));
}

TEST(Views, RedirectedWritesWhereTheCopyWouldHavePutIt) {
  // A 6x4 result, copied transposed into the right half of a 4x12 storage.
  const View written = strided({6, 4}, {4, 1});
  const View from = strided({4, 6}, {1, 4});
  View to = strided({4, 6}, {12, 1}, 6);
  to.storage = 1;
  std::optional<View> moved = redirected(written, from, to);
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(moved->storage, 1);
  EXPECT_EQ(moved->offset, 6);
  EXPECT_EQ(moved->strides, (Dims{1, 12}));
  // The writer has finer dimensions, and in another order.
  moved = redirected(strided({2, 4, 3}, {12, 1, 4}), from, to);
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(moved->strides, (Dims{3, 12, 1}));
  // A copy of a part, and a writer that does not fill its storage.
  EXPECT_FALSE(redirected(written, strided({4, 3}, {1, 8}), to).has_value());
  EXPECT_FALSE(redirected(strided({6, 4}, {8, 1}), from, to).has_value());
}

TEST(Views, BitcastChangesTheLastDimension) {
  const std::optional<View> bytes = bitcasted(strided({3}, {2}, 1), {DType::kU8, {3, 4}});
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(bytes->offset, 4);
  EXPECT_EQ(bytes->strides, (Dims{8, 1}));
  const std::optional<View> words = bitcasted(*bytes, {DType::kF32, {3}});
  ASSERT_TRUE(words.has_value());
  EXPECT_EQ(words->strides, Dims{2});
  EXPECT_EQ(words->offset, 1);
  EXPECT_FALSE(bitcasted(transposed(*bytes, {1, 0}), {DType::kF32, {4}}).has_value());
}

}  // namespace
}  // namespace spmd::codegen
