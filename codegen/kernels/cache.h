// KernelCache: compiled code kept between runs, one file an entry.
//
// Safe under many processes: entries appear whole, by renaming. An entry that is damaged, or that
// another user could have written, is as if it were not there. The cache never fails: what cannot
// be read is compiled again, what cannot be written is not kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spmd::codegen::kernels {

class KernelCache {
 public:
  struct Entry {
    std::string name;
    int64_t bytes = 0;
    int64_t changed = 0;  // seconds since the epoch
  };

  // `folder` is made when the first entry is; empty: nothing is kept.
  explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}

  // $SPMD_CACHE_DIR/kernels, $XDG_CACHE_HOME/spmd/kernels or ~/.cache/spmd/kernels; empty when the
  // environment says none of them.
  static std::string default_folder();
  // Of everything that an entry depends on.
  static std::string key(const std::vector<std::string>& parts);

  std::optional<std::string> find(const std::string& key) const;
  void put(const std::string& key, const std::string& code) const;
  // Why entries are neither found nor kept in the folder, after a put(): "is no folder"; empty when
  // they are, or when none are meant to be.
  std::string obstacle() const;

  std::vector<Entry> list() const;
  // Removes all entries; returns how many there were.
  int64_t clear() const;

 private:
  std::string file_of(const std::string& key) const;

  std::string folder_;
};

}  // namespace spmd::codegen::kernels
