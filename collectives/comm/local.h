// Ranks as threads of one process: collectives read each other's memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "collectives/comm/communicator.h"

namespace spmd::comm {

class LocalHub;

// The communicators of `ranks` ranks, one for each thread to use.
std::vector<std::unique_ptr<Communicator>> make_local(int ranks, const Options& options = {});

// Runs `body` once per rank, each on a thread of its own (rank 0 on the calling one), and waits for
// all. When ranks throw, the first failure is rethrown, after the others have been stopped.
void run_local_ranks(int ranks, const Options& options,
                     const std::function<void(Communicator&)>& body);

}  // namespace spmd::comm
