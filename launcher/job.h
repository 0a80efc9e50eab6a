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
  std::vector<Remark> remarks;  // on rank 0
};

// `place`: what the Plan is compiled for. Rank 0 reads the configuration, checks that outputs can
// be written, reads the program, compiles it and broadcasts the result. Throws Failed on all ranks.
// With --print-config, prints it on rank 0 and returns nothing.
std::optional<Job> make_job(comm::Communicator& communicator, const CommandLine& line,
                            const LaunchEnvironment& launch, const DevicePlace& place);

}  // namespace spmd
