// Ranks that were started as processes of their own may have been started differently, as by
// `mpirun -n 3 spmd-run a.mlir : -n 1 spmd-run b.mlir`. They would wait for each other in different
// collectives.
#pragma once

#include "collectives/comm/communicator.h"
#include "launcher/command_line.h"

namespace spmd {

// Throws Failed (launcher/agreement.h), with one message on all ranks, unless the command lines of
// all say the same as rank 0's: the same options, in whichever order, --verbose apart; and the same
// program, which is the same file or, where a rank has none of that name, the same path. All ranks
// call this together, first of all; also those whose command line is mistaken, whose mistake is
// then the message, unless it is rank 0's too.
void require_same_command_line(comm::Communicator& communicator, const ParsedCommandLine& parsed);

}  // namespace spmd
