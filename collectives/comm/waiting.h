// Waits for other ranks: how long, and how one that fails is told.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "support/error.h"

namespace spmd::comm {

// Time that this process could use: in which it was not stopped, so that ranks which are stopped
// and continued together do not time out.
class WaitClock {
 public:
  // The time since construction or the last restart(); to be asked for often.
  std::chrono::milliseconds waited() {
    const Clock::time_point now = Clock::now();
    waited_ += std::min<Clock::duration>(now - last_, std::chrono::seconds(1));
    last_ = now;
    return std::chrono::duration_cast<std::chrono::milliseconds>(waited_);
  }
  void restart() {
    waited_ = {};
    last_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
  Clock::duration waited_{};
};

struct Wait {
  int rank = 0;
  std::string_view collective, op;
  std::string missing;  // ranks that are waited for: " 1 3"
};

inline std::string what_is_waited_for(const Wait& wait) {
  return fmt::format("in {} of {} for rank{}", wait.collective, wait.op, wait.missing);
}

inline UserError waited_too_long(const Wait& wait, std::chrono::milliseconds limit) {
  return UserError(fmt::format("rank {}", wait.rank),
                   fmt::format("waited {:.3g} s {}", static_cast<double>(limit.count()) / 1e3,
                               what_is_waited_for(wait)),
                   "that rank hangs, died or is much slower: look at its process, and at the load "
                   "of its machine");
}

// See termination.h.
inline UserError ended_while_waiting(const Wait& wait) {
  return UserError(
      fmt::format("rank {}", wait.rank),
      "was told to end (SIGTERM) while it waited " + what_is_waited_for(wait),
      "unless somebody ended the run, that rank may have died, or one that it waited for: look at "
      "their output, and in dmesg for memory that ran out");
}

}  // namespace spmd::comm
