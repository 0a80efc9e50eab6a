#include "frontends/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/error.h"
#include "support/remedy.h"
#include "support/strings.h"

namespace spmd {
namespace {

// Protobuf messages end at 2 GiB; text of that size has no business being a program either.
constexpr size_t kMaxBytes = size_t{1} << 31;
constexpr size_t kChunk = size_t{1} << 20;

class FileDescriptor {
 public:
  explicit FileDescriptor(const char* path) : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail_to_open(const std::string& path) {
  const int error = errno;
  throw UserError(path, fmt::format("cannot open the file: {}", std::strerror(error)),
                  remedy_for_open(error, path));
}

void check_kind(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) {
    throw UserError(path, "is a directory, expected a file",
                    "name a file in it, for example model.hlo.pb for a program");
  }
}

void check_size(const std::string& path, size_t size) {
  if (size <= kMaxBytes) return;
  throw UserError(path,
                  fmt::format("is larger than {}", human_bytes(static_cast<double>(kMaxBytes))),
                  "export the program with its weights as arguments, not as constants");
}

}  // namespace

std::string read_file(const std::string& path) {
  const FileDescriptor file(path.c_str());
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) fail_to_open(path);
  check_kind(path, status);
  std::string bytes;
  if (status.st_size > 0) {
    check_size(path, static_cast<size_t>(status.st_size));
    bytes.reserve(static_cast<size_t>(status.st_size) + kChunk);
  }
  while (true) {
    const size_t before = bytes.size();
    bytes.resize(before + kChunk);
    const ssize_t count = ::read(file.get(), bytes.data() + before, kChunk);
    bytes.resize(before + static_cast<size_t>(count > 0 ? count : 0));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw UserError(path, fmt::format("cannot read the file: {}", std::strerror(errno)),
                      "check the file system that holds it");
    }
    if (count == 0) return bytes;
    check_size(path, bytes.size());
  }
}

}  // namespace spmd
