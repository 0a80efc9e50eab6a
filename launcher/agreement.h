// Failures that all ranks end with together: after each phase of a run the ranks tell each other
// how it went, so that nobody waits for a rank that has failed and one message is printed.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "collectives/comm/communicator.h"
#include "launcher/exit_codes.h"

namespace spmd {

// What is said where an allocation failed that nobody describes.
inline constexpr const char* kNoMemory =
    "not enough memory\n  use more ranks or smaller batches: spmd-run check says what a mesh needs";

// The end of a run that all ranks know of. The message is the one to print, once.
class Failed : public std::runtime_error {
 public:
  Failed(ExitCode exit_code, const std::string& message)
      : std::runtime_error(message), exit_code_(exit_code) {}
  ExitCode exit_code() const { return exit_code_; }

 private:
  ExitCode exit_code_;
};

// Runs `work` on every rank. When it throws anywhere, all ranks throw Failed with the message of
// the lowest failing rank, which the message names unless it is rank 0. A UserError gives
// `user_error`, a lack of memory kRunFailed, any other exception kInternalError. All ranks call
// this together; `work` may not wait for other ranks.
void together(comm::Communicator& communicator, ExitCode user_error,
              const std::function<void()>& work);

// The same without other ranks.
void alone(ExitCode user_error, const std::function<void()>& work);

// The same for work that only rank 0 does.
void on_root(comm::Communicator& communicator, ExitCode user_error,
             const std::function<void()>& work);

}  // namespace spmd
