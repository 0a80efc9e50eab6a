#include "launcher/cache_command.h"

#include <fmt/format.h>

#include "support/file_cache.h"
#include "support/strings.h"

namespace spmd {

std::string cache_folder(const CommandLine& line, const char* kind) {
  const std::string root = line.cache_dir.empty() ? FileCache::default_root() : line.cache_dir;
  return root.empty() ? root : fmt::format("{}/{}", root, kind);
}

void run_cache(const CommandLine& line) {
  for (const char* kind : {kKernelEntries, kTuningEntries}) {
    const std::string folder = cache_folder(line, kind);
    const FileCache cache(folder, kind);
    if (line.command == CommandLine::Command::kClearCache) {
      fmt::print("{} entries removed from {}\n", cache.clear(), folder);
      continue;
    }
    int64_t bytes = 0;
    for (const FileCache::Entry& entry : cache.list()) {
      fmt::print("{:>12}  {}\n", human_bytes(static_cast<double>(entry.bytes)), entry.name);
      bytes += entry.bytes;
    }
    fmt::print("{:>12}  in {}\n", human_bytes(static_cast<double>(bytes)), folder);
  }
}

}  // namespace spmd
