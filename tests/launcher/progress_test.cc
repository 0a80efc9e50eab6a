#include "launcher/progress.h"

#include <gtest/gtest.h>

namespace spmd {
namespace {

TEST(Progress, BarShowsShareTimesAndRate) {
  EXPECT_EQ(progress_bar("train", 50, 100, 10, 5, "loss=2.5", 70),
            "train:  50%|███████▌       | 50/100 [00:10<00:10, 5 steps/s, loss=2.5]");
}

TEST(Progress, BeforeTheFirstStepNothingIsKnown) {
  EXPECT_EQ(progress_bar("train", 0, 10, 0, 0, "", 46),
            "train:   0%|       | 0/10 [00:00<?, ? steps/s]");
}

TEST(Progress, SlowStepsAreSecondsEach) {
  EXPECT_NE(progress_bar("train", 1, 2, 4, 0.25, "", 80).find("4 s/step"), std::string::npos);
}

// 10 s for the first step, 0.5 s for each of the others.
TEST(Progress, TheFirstStepIsLeftOutOnceThereAreMore) {
  Pace pace;
  EXPECT_EQ(pace.rate(), 0);
  pace.update(1, 10);
  EXPECT_DOUBLE_EQ(pace.rate(), 0.1);
  pace.update(2, 10.5);
  EXPECT_DOUBLE_EQ(pace.rate(), 2);
  pace.update(5, 12);
  EXPECT_DOUBLE_EQ(pace.rate(), 2);
}

TEST(Progress, ClockHasHoursWhenNeeded) {
  EXPECT_EQ(clock_text(65), "01:05");
  EXPECT_EQ(clock_text(7805), "2:10:05");
  EXPECT_EQ(clock_text(-1), "00:00");
}

}  // namespace
}  // namespace spmd
