#include "support/remedy.h"

#include <cerrno>
#include <filesystem>

namespace spmd {

bool has_remedy(const UserError& error) {
  return std::string_view(error.what()).find('\n') != std::string_view::npos;
}

std::string remedy_for_open(int error, const std::string& path) {
  if (error == EACCES || error == EPERM) return "make the file readable";
  std::error_code failure;
  const std::filesystem::path folder = std::filesystem::current_path(failure);
  if (path.empty() || failure || std::filesystem::path(path).is_absolute()) return "check the path";
  return fmt::format("check the path: it is looked up in {}", folder.string());
}

}  // namespace spmd
