// What one collective of a Plan has cost so far.
#pragma once

#include <cstdint>
#include <string>

namespace spmd {

// Since the counters were last reset.
struct CollectiveRecord {
  std::string kind;  // "all_gather"
  std::string axes;  // "data,model"; empty for listed groups
  std::string op;    // that of the step
  int64_t calls = 0;
  int64_t bytes = 0;        // sent by this rank
  double milliseconds = 0;  // from its first copy into a message to its last one out of it
  double exposed_ms = 0;    // of these, in which computation waited for it
};

}  // namespace spmd
