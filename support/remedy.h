// Remedies that belong to where a file came from rather than to what is wrong in it.
#pragma once

#include <string>
#include <string_view>

#include "support/error.h"

namespace spmd {

// Whether an error says more than place and fact.
bool has_remedy(const UserError& error);

// What work() returns; a UserError of it that has no remedy gets this one.
template <typename Work>
auto with_remedy(std::string_view remedy, Work&& work) {
  try {
    return work();
  } catch (const UserError& error) {
    if (has_remedy(error)) throw;
    throw UserError({}, error.what(), remedy);
  }
}

// What to do about a file that open() refused with `error` (an errno). A relative path that leads
// nowhere was looked up in the current folder, which the remedy names.
std::string remedy_for_open(int error, const std::string& path);

}  // namespace spmd
