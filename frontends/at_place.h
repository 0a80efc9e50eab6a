// Adds a place to errors of functions that know none.
#pragma once

#include <string>

#include "support/error.h"

namespace spmd {

// What `fn` returns; a UserError that it throws begins with `place` afterwards, if it did not
// before.
template <typename Fn>
auto at_place(const std::string& place, Fn&& fn) {
  try {
    return fn();
  } catch (const UserError& error) {
    const std::string message = error.what();
    if (message.starts_with(place)) throw;
    throw UserError(place, message);
  }
}

}  // namespace spmd
