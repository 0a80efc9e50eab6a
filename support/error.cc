#include "support/error.h"

namespace spmd {
namespace {

// `what()` ends at the first NUL, which names in damaged files may hold.
std::string without_nul(std::string text) {
  for (size_t at = 0; (at = text.find('\0', at)) != std::string::npos;)
    text.replace(at, 1, "\\x00");
  return text;
}

std::string compose(std::string_view place, std::string_view fact, std::string_view remedy) {
  std::string text;
  if (!place.empty()) text.append(place).append(": ");
  text.append(fact);
  if (!remedy.empty()) text.append("\n  ").append(remedy);
  return without_nul(std::move(text));
}

}  // namespace

UserError::UserError(std::string_view place, std::string_view fact, std::string_view remedy)
    : std::runtime_error(compose(place, fact, remedy)) {}

void throw_internal(const char* file, int line, const std::string& message) {
  throw InternalError(fmt::format("internal error at {}:{}: {}", file, line, message));
}

}  // namespace spmd
