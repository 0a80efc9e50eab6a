// Threads, on machines that may start no further one.
#pragma once

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "support/error.h"

namespace spmd {

// A thread that runs `work`. Throws UserError, with `place` and what else can be done about it,
// where the system refuses it: a limit on processes, or too little memory for a stack.
template <typename Work>
std::thread start_thread(std::string_view place, std::string_view remedy, Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    throw UserError(place, fmt::format("cannot start a thread: {}", error.code().message()),
                    fmt::format("{}, or raise the limits: ulimit -u and -v, the memory and pids of "
                                "a container",
                                remedy));
  }
}

}  // namespace spmd
