#include "collectives/planning/cost_model.h"

#include <gtest/gtest.h>

namespace spmd {
namespace {

TEST(CostModel, BytesSentAreWholeAndRoundedDown) {
  EXPECT_EQ(bytes_sent(CollectiveKind::kAllGather, 10, 4), 7);   // 7.5
  EXPECT_EQ(bytes_sent(CollectiveKind::kAllReduce, 10, 4), 15);  // 15
  EXPECT_EQ(bytes_sent(CollectiveKind::kAllReduce, 3, 4), 4);    // 4.5
  EXPECT_EQ(bytes_sent(CollectiveKind::kAllToAll, 0, 4), 0);
  EXPECT_EQ(bytes_sent(CollectiveKind::kReduceScatter, 10, 1), 0);
}

// 2^40 bytes over 2^30 ranks: bytes * (n - 1) has 70 bits.
TEST(CostModel, HugeMeshesOverflowNothing) {
  constexpr int64_t kBytes = int64_t{1} << 40, kRanks = int64_t{1} << 30;
  EXPECT_EQ(bytes_sent(CollectiveKind::kAllGather, kBytes, kRanks), kBytes - 1024);
  EXPECT_EQ(bytes_sent(CollectiveKind::kAllReduce, kBytes, kRanks), 2 * kBytes - 2048);
}

}  // namespace
}  // namespace spmd
