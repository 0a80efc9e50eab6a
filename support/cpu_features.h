// Instruction sets of the CPU that compiled kernels may use.
#pragma once

#include <string>
#include <vector>

namespace spmd {

// Names as compilers take them after -m: "avx2", "fma", ...; the machine's ("x86_64") comes first.
std::vector<std::string> cpu_features();

// The words of a comma-separated list that cpu_features() lacks.
std::vector<std::string> missing_cpu_features(const std::string& needed);

}  // namespace spmd
