// How this process was started: alone, or as one of several by mpirun, srun or torchrun.
#pragma once

#include <functional>
#include <string>

namespace spmd {

struct LaunchEnvironment {
  // "mpirun", "srun", "torchrun", or empty for a process that was started alone.
  std::string launcher;
  // As the environment says; -1 where it does not. Only hints: once MPI is up, MPI's answer holds.
  int rank = -1;
  int size = -1;

  bool alone() const { return launcher.empty(); }
  // Whether this process is the one that speaks before ranks can talk to each other.
  bool speaks() const { return rank <= 0; }
};

// `get` looks a variable up, like std::getenv.
LaunchEnvironment read_launch_environment(const std::function<const char*(const char*)>& get);
LaunchEnvironment read_launch_environment();

}  // namespace spmd
