#include "collectives/planning/rank_function.h"

#include <gtest/gtest.h>

namespace spmd {
namespace {

using LinearRun = RankFunction::Run;

TEST(RankFunction, JoinsRunsThatContinueEachOther) {
  const RankFunction f({{4, 2, 9, 0}, {0, 2, 5, 2}, {2, 2, 9, 2}, {6, 1, 9, 0}});
  EXPECT_EQ(f.runs(), (std::vector<LinearRun>{{0, 4, 5, 2}, {4, 3, 9, 0}}));
  EXPECT_EQ(f.at(3), 11);
  EXPECT_EQ(f.at(6), 9);
  EXPECT_EQ(f.at(7), std::nullopt);
  EXPECT_EQ(f.min(), 5);
  EXPECT_EQ(f.max(), 11);
  EXPECT_EQ(f.uniform(), std::nullopt);
}

TEST(RankFunction, IsAskedAtItsBendsOnly) {
  // min(rank, 3) up to rank 2^40.
  int asked = 0;
  const int64_t ranks = int64_t{1} << 40;
  const RankFunction f = RankFunction::of(ranks, std::vector<int64_t>{3}, [&](int64_t rank) {
    ++asked;
    return std::min<int64_t>(rank, 3);
  });
  EXPECT_EQ(f.runs(), (std::vector<LinearRun>{{0, 3, 0, 1}, {3, ranks - 3, 3, 0}}));
  EXPECT_LE(asked, 4);
}

TEST(RankFunction, HasHolesAndFillsThem) {
  const RankFunction f({{2, 2, 7, 0}, {6, 1, 7, 0}});
  EXPECT_EQ(f.uniform(), 7);
  EXPECT_FALSE(f.any_in(0, 2));
  EXPECT_TRUE(f.any_in(0, 3));
  EXPECT_FALSE(f.any_in(4, 2));
  EXPECT_TRUE(f.any_in(5, 9));
  EXPECT_EQ(f.filled(8, 0).runs(),
            (std::vector<LinearRun>{
                {0, 2, 0, 0}, {2, 2, 7, 0}, {4, 2, 0, 0}, {6, 1, 7, 0}, {7, 1, 0, 0}}));
  EXPECT_EQ(f.mapped(-2, 1).uniform(), -13);
}

}  // namespace
}  // namespace spmd
