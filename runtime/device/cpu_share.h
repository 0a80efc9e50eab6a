// A rank's share of its host: how many threads work for it, and on which cores.
//
// Launchers of MPI bind each rank to a core or two, as if it were one thread. Such ranks are given
// back the cores of the launcher, which is their parent; the system then spreads the threads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace spmd {

// What there is on a host, as one of its ranks sees it.
struct HostCpus {
  std::vector<int> allowed;   // to this rank
  std::vector<int> launcher;  // to its parent; empty when it was not launched as one of several
  int quota = 0;              // cores' worth of time for the host's ranks together; 0: no limit
  int ranks = 1;              // of this program, on the host
};

struct CpuShare {
  int threads = 1;        // for computation, at least 1
  std::vector<int> cpus;  // to be allowed to the rank; empty: those that are
  size_t bound = 0;       // cores that the rank was bound to, where `cpus` are others
};

// Cores are shared equally. `most`: threads that the user wants at most (OMP_NUM_THREADS).
// `wanted`: threads that the user asked for (--threads), up to 1024; the rank then stays on its
// cores.
CpuShare cpu_share(const HostCpus& host, std::optional<int64_t> wanted,
                   std::optional<int64_t> most);

// Keeps of the cores that the rank gets those that are near its GPU, where there are any, and moves
// the calling thread there. A rank that stays where it is is not moved.
void stay_near(const std::vector<int>& cpus, CpuShare& share);

// Finds the calling rank's share and moves its thread to it. All ranks call this together.
// `ranks_on_host`: as in HostCpus. `launched`: by a launcher that starts a process for each rank.
CpuShare take_cpu_share(int ranks_on_host, bool launched, std::optional<int64_t> wanted);

}  // namespace spmd
