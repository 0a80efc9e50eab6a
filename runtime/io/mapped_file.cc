#include "runtime/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/io/output_path.h"
#include "support/remedy.h"

namespace spmd {

MappedFile::MappedFile(const std::string& path) : path_(path) {
  // O_NONBLOCK: a pipe that nobody writes to is refused below instead of waited for.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    const int error = errno;
    throw UserError(path, fmt::format("cannot be read: {}", std::strerror(error)),
                    remedy_for_open(error, path));
  }
  struct stat status {};
  const bool known = ::fstat(descriptor, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw UserError(path, "is no regular file", "give the path of a file that is on a disk");
  }
  size_ = status.st_size;
  if (size_ > 0) {
    void* memory =
        ::mmap(nullptr, static_cast<size_t>(size_), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (memory != MAP_FAILED) data_ = static_cast<const std::byte*>(memory);
  }
  const int error = errno;
  ::close(descriptor);
  if (size_ > 0 && !data_)
    throw UserError(path, fmt::format("cannot be mapped into memory: {}", std::strerror(error)),
                    "free memory, or check the file system that holds it");
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), static_cast<size_t>(size_));
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  OutputPath place = resolve_output(path);
  target_ = std::move(place.target);
  if (place.in_place) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary_ = fmt::format("{}.{}.tmp", target_, ::getpid());
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (descriptor_ < 0) fail("cannot be written");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* what) const {
  throw OutputError(path_, fmt::format("{}: {}", what, std::strerror(errno)),
                    "see that the folder exists, is writable and has room");
}

void AtomicFile::write(const void* data, int64_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written =
        ::write(descriptor_, next, static_cast<size_t>(std::min<int64_t>(bytes, 1 << 30)));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written");
    next += written;
    bytes -= written;
  }
}

void AtomicFile::commit() {
  // Pipes and devices have nothing to bring to a disk.
  if (::fsync(descriptor_) != 0 && !temporary_.empty()) fail("cannot be written");
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (temporary_.empty()) {
    if (closed != 0) fail("cannot be written");
    return;
  }
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    errno = error;
    fail("cannot be written");
  }
}

}  // namespace spmd
