#include "tests/fuzz/run_target.h"

#include <exception>

namespace spmd::testing {

std::string fault_of(const FuzzTarget& target, std::string_view bytes) {
  try {
    // A copy of its own size: reading past its end is seen.
    const std::vector<char> copy(bytes.begin(), bytes.end());
    target.read({copy.data(), copy.size()});
    return {};
  } catch (const UserError& error) {
    return *error.what() == '\0' ? "an error without a message" : "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace spmd::testing
