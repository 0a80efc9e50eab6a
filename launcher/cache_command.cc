#include "launcher/cache_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "launcher/text_table.h"
#include "support/file_cache.h"
#include "support/printable.h"
#include "support/strings.h"

namespace spmd {

std::string cache_folder(const RunConfig& config, const char* kind) {
  const std::string root = config.cache_dir.value_or(FileCache::default_root());
  return root.empty() ? root : fmt::format("{}/{}", root, kind);
}

namespace {

std::string entries_text(int64_t count) {
  return fmt::format("{} entr{}", count, count == 1 ? "y" : "ies");
}

// The newest first.
void print_entries(std::vector<FileCache::Entry> entries, const std::string& folder) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(-a.changed, a.name) < std::pair(-b.changed, b.name);
  });
  const auto now = static_cast<int64_t>(std::time(nullptr));
  int64_t bytes = 0;
  TextTable table({">size", ">age", "of", "entry"});
  for (const FileCache::Entry& entry : entries) {
    table.add({human_bytes(static_cast<double>(entry.bytes)), human_duration(now - entry.changed),
               entry.what.empty() ? "nothing that this version reads" : printable(entry.what),
               entry.name.substr(0, 8)});
    bytes += entry.bytes;
  }
  fmt::print("{} in {} in {}\n{}", human_bytes(static_cast<double>(bytes)),
             entries_text(static_cast<int64_t>(entries.size())),
             folder.empty() ? "no folder" : folder, entries.empty() ? "" : table.to_string());
}

}  // namespace

void run_cache(const CommandLine& line) {
  const std::string root = line.flags.cache_dir.value_or(FileCache::default_root());
  std::error_code error;
  if (!root.empty() && !std::filesystem::exists(root, error)) {
    fmt::print("no entries: there is no folder {}\n", printable(root));
    return;
  }
  for (const char* kind : {kKernelEntries, kTuningEntries}) {
    const std::string folder = cache_folder(line.flags, kind);
    const FileCache cache(folder, kind);
    if (line.command == CommandLine::Command::kClearCache) {
      fmt::print("{} removed from {}\n", entries_text(cache.clear()), folder);
      continue;
    }
    print_entries(cache.list(), folder);
  }
}

}  // namespace spmd
