#include "launcher/cache_command.h"

#include <fmt/format.h>

#include "codegen/kernels/cache.h"
#include "support/strings.h"

namespace spmd {

using codegen::kernels::KernelCache;

std::string kernel_cache_folder(const CommandLine& line) {
  return line.cache_dir.empty() ? KernelCache::default_folder() : line.cache_dir + "/kernels";
}

void run_cache(const CommandLine& line) {
  const std::string folder = kernel_cache_folder(line);
  const KernelCache cache(folder);
  if (line.command == CommandLine::Command::kClearCache) {
    fmt::print("{} entries removed from {}\n", cache.clear(), folder);
    return;
  }
  int64_t bytes = 0;
  for (const KernelCache::Entry& entry : cache.list()) {
    fmt::print("{:>12}  {}\n", human_bytes(static_cast<double>(entry.bytes)), entry.name);
    bytes += entry.bytes;
  }
  fmt::print("{:>12}  in {}\n", human_bytes(static_cast<double>(bytes)), folder);
}

}  // namespace spmd
