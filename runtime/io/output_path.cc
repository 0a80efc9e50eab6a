#include "runtime/io/output_path.h"

#include <filesystem>

#include "support/error.h"

namespace spmd {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel follows

}  // namespace

OutputPath resolve_output(const std::string& path) {
  std::error_code error;
  // Asked of the path as it is: links in /proc name pipes that are no paths.
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return {path, true};
  fs::path target = path;
  for (int links = 0; fs::is_symlink(target, error); ++links) {
    if (links == kMostLinks)
      throw UserError(path, "its symbolic links lead to no end", "name the file itself");
    // An absolute link replaces the folder that it is put after.
    target = target.parent_path() / fs::read_symlink(target, error);
  }
  return {target.string(), false};
}

}  // namespace spmd
