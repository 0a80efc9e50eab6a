// Regular expressions of sharding rules.
#pragma once

#include <regex>
#include <string>

namespace spmd {

// ECMAScript's, without references to groups: matching takes polynomial time, where a backtracking
// search would take forever for patterns such as (.+)+x. Throws std::regex_error.
inline std::regex compile_pattern(const std::string& pattern) {
  auto flags = std::regex_constants::ECMAScript;
#ifdef __GLIBCXX__
  flags |= std::regex_constants::__polynomial;
#endif
  return std::regex(pattern, flags);
}

}  // namespace spmd
