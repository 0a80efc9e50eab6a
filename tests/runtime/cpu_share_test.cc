#include "runtime/device/cpu_share.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "support/cpu_affinity.h"

namespace spmd {
namespace {

std::vector<int> cpus(int count, int first = 0) {
  std::vector<int> result(static_cast<size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

CpuShare share(const HostCpus& host) { return cpu_share(host, std::nullopt, std::nullopt); }

TEST(CpuShare, RanksShareTheCores) {
  EXPECT_EQ(share({.allowed = cpus(16)}).threads, 16);
  EXPECT_EQ(share({.allowed = cpus(16), .ranks = 4}).threads, 4);
  EXPECT_EQ(share({.allowed = cpus(16), .ranks = 5}).threads, 3);
  EXPECT_EQ(share({.allowed = cpus(2), .ranks = 4}).threads, 1);
  EXPECT_TRUE(share({.allowed = cpus(16), .ranks = 4}).cpus.empty());
  // A launcher that binds nobody.
  EXPECT_EQ(share({.allowed = cpus(16), .launcher = cpus(16), .ranks = 4}).threads, 4);
}

// Bound to less than their share, ranks get the launcher's cores back.
TEST(CpuShare, BoundRanksAreFreed) {
  const CpuShare freed = share({.allowed = {3}, .launcher = cpus(16), .ranks = 4});
  EXPECT_EQ(freed.threads, 4);
  EXPECT_EQ(freed.cpus, cpus(16));
  EXPECT_EQ(freed.bound, 1u);
  // One that has its share stays, and the cores are its own.
  const CpuShare kept = share({.allowed = cpus(4, 8), .launcher = cpus(16), .ranks = 4});
  EXPECT_EQ(kept.threads, 4);
  EXPECT_TRUE(kept.cpus.empty());
  const CpuShare alone = share({.allowed = {1}, .launcher = cpus(2), .ranks = 2});
  EXPECT_EQ(alone.threads, 1);
  EXPECT_TRUE(alone.cpus.empty());
}

TEST(CpuShare, Limits) {
  EXPECT_EQ(share({.allowed = cpus(64), .quota = 6, .ranks = 2}).threads, 3);
  EXPECT_EQ(share({.allowed = cpus(64), .quota = 1, .ranks = 2}).threads, 1);
  EXPECT_EQ(cpu_share({.allowed = cpus(64)}, std::nullopt, 8).threads, 8);
  EXPECT_EQ(cpu_share({.allowed = cpus(4)}, std::nullopt, 8).threads, 4);
}

TEST(CpuShare, WhatTheUserWantsHolds) {
  const HostCpus bound{.allowed = {3}, .launcher = cpus(16), .quota = 2, .ranks = 4};
  EXPECT_EQ(cpu_share(bound, 5, 1).threads, 5);
  EXPECT_TRUE(cpu_share(bound, 5, 1).cpus.empty());
  EXPECT_EQ(cpu_share(bound, int64_t{1} << 40, std::nullopt).threads, 1024);
}

TEST(CpuAffinity, ListsOfTheKernel) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("5"), std::vector<int>{5});
  for (const char* text : {"", "\n", "x", "1-", "3-1", "1 2", "-1", "1-99999999", "99999999999"})
    EXPECT_TRUE(parse_cpu_list(text).empty()) << text;
}

TEST(CpuAffinity, AThreadIsMovedAndNobodyElse) {
  const std::vector<int> before = allowed_cpus();
  ASSERT_FALSE(before.empty());
  std::thread([&] {
    EXPECT_TRUE(allow_cpus({before.back()}));
    EXPECT_EQ(allowed_cpus(), std::vector<int>{before.back()});
    EXPECT_FALSE(allow_cpus({}));
  }).join();
  EXPECT_EQ(allowed_cpus(), before);
  EXPECT_TRUE(allowed_cpus_of(-1).empty());
}

}  // namespace
}  // namespace spmd
