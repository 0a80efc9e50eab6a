// spmd-run MODEL: compiles on rank 0, and trains on all ranks.
#pragma once

#include "collectives/comm/communicator.h"
#include "launcher/command_line.h"
#include "launcher/launch_environment.h"

namespace spmd {

// One rank's side of a run; all ranks call this. Throws Failed, on all ranks alike, for whatever
// goes wrong before the first step and after the last; what goes wrong between is thrown by the
// rank that meets it.
void run_rank(comm::Communicator& communicator, const CommandLine& line,
              const LaunchEnvironment& launch);

}  // namespace spmd
