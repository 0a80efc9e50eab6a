#include "support/cpu_features.h"

#include <sys/utsname.h>

#include <algorithm>
#include <sstream>

namespace spmd {
namespace {

std::vector<std::string> detect() {
  std::vector<std::string> result;
  utsname machine;
  result.emplace_back(uname(&machine) == 0 ? machine.machine : "unknown");
#if defined(__x86_64__)
#define SPMD_FEATURE(name) \
  if (__builtin_cpu_supports(name)) result.emplace_back(name);
  SPMD_FEATURE("avx2")
  SPMD_FEATURE("fma")
  SPMD_FEATURE("bmi")
  SPMD_FEATURE("bmi2")
  SPMD_FEATURE("popcnt")
#undef SPMD_FEATURE
#endif
  return result;
}

}  // namespace

std::vector<std::string> cpu_features() {
  static const std::vector<std::string> features = detect();
  return features;
}

std::vector<std::string> missing_cpu_features(const std::string& needed) {
  const std::vector<std::string> features = cpu_features();
  std::vector<std::string> missing;
  std::istringstream words(needed);
  for (std::string word; std::getline(words, word, ',');)
    if (std::find(features.begin(), features.end(), word) == features.end())
      missing.push_back(word);
  return missing;
}

}  // namespace spmd
