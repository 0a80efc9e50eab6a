// The folder that a compiler works in.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace spmd::codegen::kernels {

// Vanishes with what is in it, also when SIGINT or SIGTERM ends the process. There is one at a
// time: a second one waits for the first to go.
class TemporaryFolder {
 public:
  // In parent(); exists() says whether that went well, else errno has the reason.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // $TMPDIR, or else /tmp.
  static std::filesystem::path parent();
  bool exists() const;

  // What is compiled comes in up to kMostParts parts, each with files and a process of its own.
  static constexpr size_t kMostParts = 8;
  std::string source(size_t part = 0) const;
  std::string object(size_t part = 0) const;
  std::string log(size_t part = 0) const;
  std::string output() const;

  // The process that works on a part and is to end with this one; 0: none.
  void set_worker(pid_t process, size_t part = 0) const;
};

}  // namespace spmd::codegen::kernels
