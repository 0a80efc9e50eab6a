// Ranks as MPI processes. The only header of spmd's own that has to do with MPI; mpi.h stays in
// the .cc.
#pragma once

#include <memory>

#include "collectives/comm/communicator.h"

namespace spmd::comm {

// The communicator over all processes; initialises MPI. Make one, use it from one thread. When it
// goes while an exception is in flight it does not wait for the other processes, so report with
// abort() first; otherwise its end is collective.
std::unique_ptr<Communicator> make_mpi(const Options& options = {});

}  // namespace spmd::comm
