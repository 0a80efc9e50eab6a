#include "launcher/launch_environment.h"

#include <gtest/gtest.h>

#include <map>

namespace spmd {
namespace {

LaunchEnvironment read(const std::map<std::string, std::string>& variables) {
  return read_launch_environment([&](const char* name) -> const char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
}

TEST(LaunchEnvironment, NothingMeansAlone) { EXPECT_TRUE(read({}).alone()); }

TEST(LaunchEnvironment, OpenMpiComesFirst) {
  const LaunchEnvironment launch = read({{"OMPI_COMM_WORLD_RANK", "2"},
                                         {"OMPI_COMM_WORLD_SIZE", "4"},
                                         {"SLURM_PROCID", "0"},
                                         {"SLURM_STEP_NUM_TASKS", "1"}});
  EXPECT_EQ(launch.launcher, "mpirun");
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.size, 4);
  EXPECT_FALSE(launch.speaks());
}

TEST(LaunchEnvironment, ABatchScriptIsNoStepOfSrun) {
  EXPECT_TRUE(read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).alone());
  EXPECT_EQ(read({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "8"}}).launcher, "srun");
}

TEST(LaunchEnvironment, RankAloneIsNotTorchrun) {
  EXPECT_TRUE(read({{"RANK", "0"}, {"WORLD_SIZE", "4"}}).alone());
  EXPECT_EQ(read({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"TORCHELASTIC_RUN_ID", "x"}}).size, 4);
}

TEST(LaunchEnvironment, NumbersThatAreNoneDoNotCount) {
  EXPECT_TRUE(read({{"OMPI_COMM_WORLD_RANK", "one"}}).alone());
  EXPECT_TRUE(read({{"OMPI_COMM_WORLD_RANK", "-1"}}).alone());
}

}  // namespace
}  // namespace spmd
