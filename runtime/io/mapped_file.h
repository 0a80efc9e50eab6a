// Files: read-only mappings, and writing that leaves no half-written file behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "support/error.h"

namespace spmd {

class MappedFile {
 public:
  // Throws UserError naming the path when it cannot be read.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  const std::byte* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

// An output that cannot be written.
class OutputError : public UserError {
 public:
  using UserError::UserError;
};

// Writes a file under a temporary name beside it, and gives it its own when all of it is on disk.
// Without commit() nothing is left. Symbolic links are followed; what exists and is no regular file
// is written in place (output_path.h). Throws OutputError.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, int64_t bytes);
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;  // as given, for messages
  std::string target_;
  std::string temporary_;  // empty: written in place
  int descriptor_ = -1;
};

}  // namespace spmd
