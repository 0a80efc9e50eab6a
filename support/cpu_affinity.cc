#include "support/cpu_affinity.h"

#include <sched.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <string>

namespace spmd {
namespace {

// Cores that a set has room for; the kernel refuses smaller ones than it has cores itself.
constexpr int kMostCpus = 8192;

class CpuSet {
 public:
  CpuSet() : set_(CPU_ALLOC(kMostCpus)) { CPU_ZERO_S(bytes(), set_); }
  ~CpuSet() { CPU_FREE(set_); }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;

  static size_t bytes() { return CPU_ALLOC_SIZE(kMostCpus); }
  cpu_set_t* get() { return set_; }

 private:
  cpu_set_t* set_;
};

}  // namespace

std::vector<int> allowed_cpus_of(int pid) {
  CpuSet set;
  std::vector<int> cpus;
  if (sched_getaffinity(pid, CpuSet::bytes(), set.get()) != 0) return cpus;
  for (int cpu = 0; cpu < kMostCpus; ++cpu)
    if (CPU_ISSET_S(static_cast<size_t>(cpu), CpuSet::bytes(), set.get())) cpus.push_back(cpu);
  return cpus;
}

std::vector<int> allowed_cpus() { return allowed_cpus_of(0); }

bool allow_cpus(const std::vector<int>& cpus) {
  CpuSet set;
  for (int cpu : cpus)
    if (cpu >= 0 && cpu < kMostCpus)
      CPU_SET_S(static_cast<size_t>(cpu), CpuSet::bytes(), set.get());
  return sched_setaffinity(0, CpuSet::bytes(), set.get()) == 0;
}

std::vector<int> parse_cpu_list(std::string_view list) {
  std::vector<int> cpus;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end && *at != '\n') {
    int first = 0;
    std::from_chars_result read = std::from_chars(at, end, first);
    int last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || first < 0 || last < first || last >= kMostCpus) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    at = read.ptr;
    if (at != end && *at == ',') {
      ++at;
    } else if (at != end && *at != '\n') {
      return {};
    }
  }
  return cpus;
}

int cpu_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  const double microseconds = std::strtod(quota.c_str(), nullptr);
  return microseconds > 0 ? static_cast<int>(std::ceil(microseconds / period)) : 0;
}

}  // namespace spmd
