// The cores that threads may run on.
#pragma once

#include <string_view>
#include <vector>

namespace spmd {

// Numbers of the cores that the calling thread may run on, in order.
std::vector<int> allowed_cpus();
// Those of process `pid`; empty where that cannot be known.
std::vector<int> allowed_cpus_of(int pid);

// Lets the calling thread, and threads that it will start, run on these. False when the system
// refuses.
bool allow_cpus(const std::vector<int>& cpus);

// The numbers of a list as the kernel writes it: "0-3,8,10-11". Empty where it is none.
std::vector<int> parse_cpu_list(std::string_view list);

// Cores' worth of time that this process's control group may use (cgroup v2, cpu.max), rounded up;
// 0: there is no limit.
int cpu_quota();

}  // namespace spmd
