#include "support/error.h"

namespace spmd {

void throw_internal(const char* file, int line, const std::string& message) {
  throw InternalError(fmt::format("internal error at {}:{}: {}", file, line, message));
}

}  // namespace spmd
