// The message of an error, for tests of messages.
#pragma once

#include <functional>
#include <string>

#include "support/error.h"

namespace spmd::testing {

// What the UserError says that `run` throws; "no error" when it throws none.
inline std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace spmd::testing
