#include "launcher/progress.h"

#include <gtest/gtest.h>

namespace spmd {
namespace {

TEST(Progress, BarShowsShareTimesAndRate) {
  EXPECT_EQ(progress_bar("train", 50, 100, 10, "loss=2.5", 70),
            "train:  50%|███████▌       | 50/100 [00:10<00:10, 5 steps/s, loss=2.5]");
}

TEST(Progress, BeforeTheFirstStepNothingIsKnown) {
  EXPECT_EQ(progress_bar("train", 0, 10, 0, "", 46),
            "train:   0%|       | 0/10 [00:00<?, ? steps/s]");
}

TEST(Progress, SlowStepsAreSecondsEach) {
  EXPECT_NE(progress_bar("train", 1, 2, 4, "", 80).find("4 s/step"), std::string::npos);
}

TEST(Progress, ClockHasHoursWhenNeeded) {
  EXPECT_EQ(clock_text(65), "01:05");
  EXPECT_EQ(clock_text(7805), "2:10:05");
  EXPECT_EQ(clock_text(-1), "00:00");
}

}  // namespace
}  // namespace spmd
