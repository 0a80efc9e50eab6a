// FileCache: what is costly to make, kept between runs: compiled code, timed choices. One file an
// entry.
//
// Safe under many processes: entries appear whole, by renaming. An entry that is damaged, or that
// another user could have written, is as if it were not there. The cache never fails: what cannot
// be read is made again, what cannot be written is not kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

// The kinds that there are, each in a folder of that name.
inline constexpr const char* kKernelEntries = "kernels";  // compiled kernels
inline constexpr const char* kTuningEntries = "tuning";   // timed choices of a device

class FileCache {
 public:
  struct Entry {
    std::string name;
    std::string what;  // as put() was told; empty where the entry is not whole
    int64_t bytes = 0;
    int64_t changed = 0;  // seconds since the epoch
  };

  // `folder` is made when the first entry is; empty: nothing is kept. Entries are of one `kind`, a
  // word, which ends the names of their files.
  FileCache(std::string folder, std::string kind)
      : folder_(std::move(folder)), suffix_("." + std::move(kind)) {}

  // $SPMD_CACHE_DIR, $XDG_CACHE_HOME/spmd or ~/.cache/spmd; empty when the environment says none of
  // them.
  static std::string default_root();
  // Of everything that an entry depends on.
  static std::string key(const std::vector<std::string>& parts);

  // nullopt when there is none to use. When there is one that must not be used, `fault` says what
  // is wrong with it: "is damaged".
  std::optional<std::string> find(const std::string& key, std::string* fault = nullptr) const;
  // `what`: what the entry is of, in a line, for people.
  void put(const std::string& key, const std::string& content, const std::string& what = "") const;
  // Why entries are neither found nor kept in the folder, after a put(): "is no folder"; empty when
  // they are, or when none are meant to be.
  std::string obstacle() const;

  std::vector<Entry> list() const;
  // Removes all entries; returns how many there were.
  int64_t clear() const;

 private:
  std::string file_of(const std::string& key) const;

  std::string folder_, suffix_;
};

}  // namespace spmd
