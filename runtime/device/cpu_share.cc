#include "runtime/device/cpu_share.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "support/cpu_affinity.h"

namespace spmd {
namespace {

// Of the first number in OMP_NUM_THREADS, which may be a list by nesting level.
std::optional<int64_t> most_threads() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  if (text == nullptr) return std::nullopt;
  const int64_t count = std::strtol(text, nullptr, 10);
  return count > 0 ? std::optional(count) : std::nullopt;
}

constexpr int64_t kMostThreads = 1024;

}  // namespace

CpuShare cpu_share(const HostCpus& host, std::optional<int64_t> wanted,
                   std::optional<int64_t> most) {
  CpuShare share;
  if (wanted) {
    share.threads = static_cast<int>(std::min(*wanted, kMostThreads));
    return share;
  }
  // A rank that was not bound has its launcher's cores; the cores of one that was are its own.
  const auto allowed = static_cast<int64_t>(host.allowed.size());
  const auto launcher = static_cast<int64_t>(host.launcher.size());
  int64_t threads = allowed < launcher ? allowed : allowed / host.ranks;
  if (allowed < launcher / host.ranks) {
    threads = launcher / host.ranks;
    share.cpus = host.launcher;
    share.bound = host.allowed.size();
  }
  if (host.quota > 0) threads = std::min<int64_t>(threads, host.quota / host.ranks);
  if (most) threads = std::min(threads, *most);
  share.threads = static_cast<int>(std::max<int64_t>(threads, 1));
  return share;
}

void stay_near(const std::vector<int>& cpus, CpuShare& share) {
  std::vector<int> both;
  std::set_intersection(cpus.begin(), cpus.end(), share.cpus.begin(), share.cpus.end(),
                        std::back_inserter(both));
  if (!both.empty() && allow_cpus(both)) share.cpus = both;
}

CpuShare take_cpu_share(int ranks_on_host, bool launched, std::optional<int64_t> wanted) {
  HostCpus host;
  host.allowed = allowed_cpus();
  if (launched) host.launcher = allowed_cpus_of(::getppid());
  host.quota = cpu_quota();
  host.ranks = ranks_on_host;
  CpuShare share = cpu_share(host, wanted, most_threads());
  if (!share.cpus.empty() && !allow_cpus(share.cpus)) {
    share.cpus.clear();
    share.threads = 1;
  }
  return share;
}

}  // namespace spmd
