#include "codegen/buffers.h"

#include <random>

#include "gtest/gtest.h"

namespace spmd::codegen {
namespace {

TEST(Buffers, LifetimesThatOverlapNeverShareSpace) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<Lifetime> lives(200);
    for (Lifetime& life : lives) {
      life.first = std::uniform_int_distribution<int64_t>(0, 100)(random);
      life.last = life.first + std::uniform_int_distribution<int64_t>(0, 10)(random);
      life.bytes = std::uniform_int_distribution<int64_t>(0, 1000)(random);
    }
    const int64_t total = assign_offsets(lives);
    for (const Lifetime& a : lives) {
      EXPECT_EQ(a.offset % 64, 0);
      EXPECT_LE(a.offset + a.bytes, total);
      for (const Lifetime& b : lives) {
        if (&a == &b || a.last < b.first || b.last < a.first || a.bytes == 0 || b.bytes == 0)
          continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
      }
    }
  }
}

TEST(Buffers, AChainNeedsTwoBuffers) {
  std::vector<Lifetime> lives;
  for (int i = 0; i < 100; ++i) lives.push_back({i, i, i + 1, 640, 0});
  EXPECT_EQ(assign_offsets(lives), 1280);
}

TEST(Buffers, EqualConstantsAreStoredOnce) {
  StorageTable table;
  const Literal a = Literal::of<float>({DType::kF32, {2}}, {1, 2});
  const Literal b = Literal::of<float>({DType::kF32, {1, 2}}, {1, 2});
  const Literal c = Literal::of<float>({DType::kF32, {2}}, {1, 3});
  EXPECT_EQ(table.add_constant(a, false), table.add_constant(b, false));
  EXPECT_NE(table.add_constant(a, false), table.add_constant(c, false));
}

}  // namespace
}  // namespace spmd::codegen
