#include "runtime/device/cpu/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace spmd::cpu {
namespace {

TEST(Workers, EveryPartRunsOnceOnItsThread) {
  Workers workers(3);
  ASSERT_EQ(workers.threads(), 3);
  std::vector<std::thread::id> threads(3);
  for (int round = 0; round < 1000; ++round) {
    std::vector<int> runs(3, 0);
    workers.run(3, [&](int part) {
      const auto at = static_cast<size_t>(part);
      ++runs[at];
      if (round == 0) threads[at] = std::this_thread::get_id();
      EXPECT_EQ(threads[at], std::this_thread::get_id());
    });
    ASSERT_EQ(runs, (std::vector<int>{1, 1, 1})) << "round " << round;
  }
  EXPECT_EQ(threads[0], std::this_thread::get_id());
  EXPECT_NE(threads[1], threads[2]);
}

TEST(Workers, FewerPartsThanThreads) {
  Workers workers(4);
  for (int parts : {0, 1, 2, 4, 1, 3}) {
    std::atomic<int> runs{0};
    workers.run(parts, [&](int part) {
      EXPECT_LT(part, parts);
      ++runs;
    });
    EXPECT_EQ(runs, parts);
  }
}

// Threads that have gone to sleep are woken.
TEST(Workers, AfterALongPause) {
  Workers workers(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> runs{0};
    workers.run(2, [&](int) { ++runs; });
    EXPECT_EQ(runs, 2);
  }
}

// The caller waits for a part that takes longer than it looks out for it.
TEST(Workers, AfterALongPart) {
  Workers workers(2);
  std::atomic<bool> done{false};
  workers.run(2, [&](int part) {
    if (part == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    done = true;
  });
  EXPECT_TRUE(done);
}

TEST(Workers, WhatAPartThrowsReachesTheCaller) {
  Workers workers(3);
  const auto fail_in = [&](int first, int second) {
    workers.run(3, [&](int part) {
      if (part == first || part == second) throw std::runtime_error(std::to_string(part));
    });
  };
  for (int part : {0, 1, 2}) {
    try {
      fail_in(part, 2);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), std::to_string(part));
    }
  }
  EXPECT_NO_THROW(fail_in(-1, -1));
}

}  // namespace
}  // namespace spmd::cpu
