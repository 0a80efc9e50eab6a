// What every communicator must do: the same body runs on threads and on MPI processes.
#pragma once

#include <string>

#include "collectives/comm/communicator.h"

namespace spmd::comm {

// Runs every collective on groups of all kinds, element types and sizes. Returns the first thing
// that is wrong, or "".
std::string check_collectives(Communicator& communicator);

// A hash of results whose bits depend on the order of combination; equal for all communicators of
// one size.
uint64_t reduction_fingerprint(Communicator& communicator);

}  // namespace spmd::comm
