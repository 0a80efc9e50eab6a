// The two kinds of failure. A UserError is the user's to mend and says how; an InternalError is a
// fault of ours. Nothing else is thrown across a layer.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace spmd {

// A mistake in what the user gave us. `what()` is one lower-case line, "place: fact", followed by
// one indented line per detail: expectation, remedy.
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message) : UserError({}, message) {}
  UserError(std::string_view place, std::string_view fact, std::string_view remedy = {});
};

// A broken invariant of spmd itself.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void throw_internal(const char* file, int line, const std::string& message);

}  // namespace spmd

// Checks one of our own invariants in every build. Never reached by user input.
#define SPMD_CHECK(condition, ...)                                         \
  do {                                                                     \
    if (!(condition)) [[unlikely]]                                         \
      ::spmd::throw_internal(__FILE__, __LINE__,                           \
                             "check failed: " #condition                   \
                             " " __VA_OPT__(+::fmt::format(__VA_ARGS__))); \
  } while (false)

#define SPMD_UNREACHABLE(...) ::spmd::throw_internal(__FILE__, __LINE__, ::fmt::format(__VA_ARGS__))
