#include "support/rank_pairs.h"

#include <gtest/gtest.h>

namespace spmd {
namespace {

using Pair = RankPairs::Pair;
using PairRun = RankPairs::Run;

std::vector<Pair> listed(const RankPairs& pairs) {
  std::vector<Pair> result;
  for (const Pair& pair : pairs) result.push_back(pair);
  return result;
}

TEST(RankPairs, AShiftIsARun) {
  const RankPairs pairs{{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  EXPECT_EQ(pairs.runs(), (std::vector<PairRun>{{0, 1, 3, 1, 1}, {3, 0}}));
  EXPECT_EQ(listed(pairs), (std::vector<Pair>{{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
  EXPECT_EQ(pairs.source_of(3), 2);
  EXPECT_EQ(pairs.target_of(3), 0);
  EXPECT_EQ(pairs.target_of(4), std::nullopt);
}

TEST(RankPairs, EqualWhateverTheRuns) {
  RankPairs appended;
  appended.append({0, 6, 2, 2, -1});
  appended.append({4, 4, 2, 2, -1});
  EXPECT_EQ(appended.runs().size(), 1U);
  EXPECT_EQ(appended, (RankPairs{{0, 6}, {2, 5}, {4, 4}, {6, 3}}));
  RankPairs apart;
  apart.append({0, 6});
  apart.append({2, 5, 3, 2, -1});
  EXPECT_EQ(appended, apart);
  EXPECT_FALSE(apart == (RankPairs{{0, 6}, {2, 5}, {4, 4}, {6, 2}}));
}

TEST(RankPairs, StaysInPlaceWhenEveryRankSendsToItself) {
  EXPECT_TRUE(RankPairs().stays_in_place());
  EXPECT_TRUE((RankPairs{{0, 0}, {1, 1}, {5, 5}}).stays_in_place());
  EXPECT_FALSE((RankPairs{{0, 0}, {1, 1}, {2, 3}}).stays_in_place());
  EXPECT_FALSE((RankPairs{{0, 2}, {1, 1}, {2, 0}}).stays_in_place());
}

TEST(RankPairs, FindsRanksThatOccurTwice) {
  const RankPairs once{{0, 3}, {1, 2}, {2, 1}, {7, 9}};
  EXPECT_EQ(once.repeated_source(), std::nullopt);
  EXPECT_EQ(once.repeated_target(), std::nullopt);
  const RankPairs twice{{0, 1}, {1, 2}, {2, 3}, {1, 9}, {8, 2}};
  EXPECT_EQ(twice.repeated_source(), 1);
  EXPECT_EQ(twice.repeated_target(), 2);
  const RankPairs strided{{0, 0}, {2, 1}, {4, 2}, {3, 5}, {4, 7}};
  EXPECT_EQ(strided.repeated_source(), 4);
  EXPECT_EQ((RankPairs{{0, 5}, {1, 5}}).repeated_target(), 5);
}

// Numbers from outside are kept as they are, to be refused where they are checked.
TEST(RankPairs, KeepsWhatIsNoRank) {
  const std::vector<RankPairs::Pair> wild{{1, 2}, {INT64_MIN, 1}, {1, 1}, {INT64_MAX, 3}, {0, 4}};
  RankPairs pairs;
  for (const auto& [source, target] : wild) pairs.emplace_back(source, target);
  EXPECT_EQ((std::vector<RankPairs::Pair>(pairs.begin(), pairs.end())), wild);
}

TEST(RankPairs, RefusesRunsFromOutsideThatLeaveTheRanks) {
  EXPECT_TRUE((PairRun{0, 3, 4, 1, -1}).is_sound());
  EXPECT_FALSE((PairRun{0, 3, 5, 1, -1}).is_sound());
  EXPECT_FALSE((PairRun{0, 0, 0, 1, 1}).is_sound());
  EXPECT_FALSE((PairRun{0, 0, int64_t{1} << 62, 4, 1}).is_sound());
  EXPECT_FALSE((PairRun{INT64_MAX, 0, 2, INT64_MAX, 1}).is_sound());
}

}  // namespace
}  // namespace spmd
