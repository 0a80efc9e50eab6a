// Work whose crash or hang must not end this process.
#pragma once

#include <functional>
#include <string>

namespace spmd {

struct IsolatedOutcome {
  std::string text;  // what the work returned
  int signal = 0;    // that ended it; 0: none
  bool timed_out = false;

  bool finished() const { return signal == 0 && !timed_out; }
  // "crashed with signal 11", "took longer than 60 s"; empty when it finished.
  std::string failure() const;
  double limit_seconds = 0;
};

// Runs `work` in a child process for at most so many seconds. Its standard error goes nowhere when
// `quiet`. To be called from a process that has run no kernels: threads are not copied. Throws
// UserError when there are no more processes.
IsolatedOutcome run_isolated(const std::function<std::string()>& work, double seconds,
                             bool quiet = true);

}  // namespace spmd
