// Job: what rank 0 works out and all ranks need.
#pragma once

#include <string>
#include <vector>

#include "collectives/comm/communicator.h"
#include "launcher/command_line.h"
#include "launcher/launch_environment.h"
#include "passes/pass.h"
#include "runtime/device/make_device.h"
#include "runtime/plan/plan.h"

namespace spmd {

struct Job {
  RunConfig config;
  plan::Plan plan;
  bool was_compiled = false;    // the program's file is a Plan; known on rank 0
  std::vector<Remark> remarks;  // on rank 0
};

// The configuration in force, which rank 0 reads and broadcasts. Throws Failed on all ranks.
RunConfig agree_on_config(comm::Communicator& communicator, const CommandLine& line);

// `place`: what the Plan is compiled for. Rank 0 checks that outputs can be written, reads the
// program, compiles it and broadcasts the result. Throws Failed on all ranks.
Job make_job(comm::Communicator& communicator, const CommandLine& line, RunConfig config,
             const LaunchEnvironment& launch, const DevicePlace& place);

}  // namespace spmd
