#include "support/file_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace spmd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "spmdk002";
// What an entry is of is in its first bytes.
constexpr size_t kMostOfWhat = 400;
constexpr size_t kHeader = kMagic.size() + 32;

std::string hash_of(std::string_view data) {
  const XXH128_hash_t hash = XXH3_128bits(data.data(), data.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// Ours, and nobody else's to write.
bool is_trusted(const struct stat& about) {
  return about.st_uid == geteuid() && (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// What is wrong with a folder that should be ours; empty: nothing.
std::string distrust_of(const std::string& folder) {
  struct stat about;
  if (stat(folder.c_str(), &about) != 0)
    return fmt::format("cannot be made: {}", std::strerror(errno));
  if (!S_ISDIR(about.st_mode)) return "is no folder";
  if (about.st_uid != geteuid()) return "belongs to another user";
  if (!is_trusted(about)) return "can be written by others";
  return {};
}

bool is_trusted_folder(const std::string& folder) { return distrust_of(folder).empty(); }

// All of a file that is_trusted(); `fault` as in find().
std::optional<std::string> read_trusted(const std::string& path, std::string& fault) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) {
    if (errno != ENOENT) fault = fmt::format("cannot be read: {}", std::strerror(errno));
    return std::nullopt;
  }
  struct stat about;
  std::optional<std::string> content;
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
    fault = "is no file";
  } else if (!is_trusted(about)) {
    fault = "belongs to another user, or can be written by others";
  } else {
    content.emplace(static_cast<size_t>(about.st_size), '\0');
    size_t done = 0;
    while (done < content->size()) {
      const ssize_t n = read(file, content->data() + done, content->size() - done);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    if (done != content->size()) {
      content.reset();
      fault = "cannot be read whole";
    }
  }
  close(file);
  return content;
}

bool write_all(int file, std::string_view data) {
  while (!data.empty()) {
    const ssize_t n = write(file, data.data(), data.size());
    if (n <= 0) return false;
    data.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// What the entry in a file says that it is of.
std::string read_what(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return {};
  std::string head(kHeader + kMostOfWhat + 1, '\0');
  const ssize_t bytes = read(file, head.data(), head.size());
  close(file);
  head.resize(static_cast<size_t>(std::max<ssize_t>(bytes, 0)));
  const size_t end = head.size() > kHeader ? head.find('\0', kHeader) : std::string::npos;
  if (end == std::string::npos || !head.starts_with(kMagic)) return {};
  return head.substr(kHeader, end - kHeader);
}

}  // namespace

std::string FileCache::default_root() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (const std::string own = variable("SPMD_CACHE_DIR"); !own.empty()) return own;
  if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/spmd";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/spmd";
  return {};
}

std::string FileCache::key(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += fmt::format("{}:{}", part.size(), part);
  return hash_of(all);
}

std::string FileCache::file_of(const std::string& key) const {
  return fmt::format("{}/{}{}", folder_, key, suffix_);
}

// An entry: the magic number, the hash of what follows, what it is of with a zero at its end, the
// content.
std::optional<std::string> FileCache::find(const std::string& key, std::string* fault) const {
  if (folder_.empty() || !is_trusted_folder(folder_)) return std::nullopt;
  std::string why;
  std::optional<std::string> content = read_trusted(file_of(key), why);
  const bool is_whole =
      content && content->size() > kHeader && content->starts_with(kMagic) &&
      content->compare(kMagic.size(), 32, hash_of(std::string_view(*content).substr(kHeader))) == 0;
  if (content && !is_whole) why = "is damaged";
  if (fault != nullptr) *fault = why;
  if (!is_whole) return std::nullopt;
  content->erase(0, content->find('\0', kHeader) + 1);
  return content;
}

void FileCache::put(const std::string& key, const std::string& content,
                    const std::string& what) const {
  if (folder_.empty()) return;
  std::error_code ignored;
  if (!fs::exists(folder_, ignored)) {
    fs::create_directories(fs::path(folder_).parent_path(), ignored);
    mkdir(folder_.c_str(), 0700);
  }
  if (!is_trusted_folder(folder_)) return;
  std::string name = folder_ + "/.new-XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return;
  std::string rest = what.substr(0, what.find('\0')).substr(0, kMostOfWhat);
  rest += '\0';
  rest += content;
  const bool written =
      write_all(file, kMagic) && write_all(file, hash_of(rest)) && write_all(file, rest);
  if (close(file) != 0 || !written || rename(name.c_str(), file_of(key).c_str()) != 0)
    unlink(name.c_str());
}

std::string FileCache::obstacle() const {
  if (folder_.empty()) return {};
  std::string distrust = distrust_of(folder_);
  if (distrust.empty() && access(folder_.c_str(), R_OK | W_OK | X_OK) != 0)
    return fmt::format("cannot be read and written: {}", std::strerror(errno));
  return distrust;
}

std::vector<FileCache::Entry> FileCache::list() const {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    struct stat about;
    if (!name.ends_with(suffix_) || lstat(it->path().c_str(), &about) != 0) continue;
    entries.push_back({name.substr(0, name.size() - suffix_.size()), read_what(it->path().string()),
                       about.st_size, static_cast<int64_t>(about.st_mtime)});
  }
  return entries;
}

int64_t FileCache::clear() const {
  int64_t removed = 0;
  for (const Entry& entry : list())
    if (unlink(file_of(entry.name).c_str()) == 0) ++removed;
  return removed;
}

}  // namespace spmd
