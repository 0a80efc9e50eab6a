#include "frontends/onnx/external_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "support/error.h"
#include "support/scanner.h"

namespace spmd::onnx {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBeside = "keep the files of external data beside the model, as exported";

[[noreturn]] void refuse(const std::string& place, const std::string& what,
                         const std::string& location, const char* why) {
  throw UserError(place, fmt::format("{} lies in \"{}\", {}", what, escape(location), why),
                  "external data must lie in the model's folder: save the model again");
}

// The file without symbolic links, which must be below the folder without symbolic links.
fs::path resolve(const std::string& folder, const std::string& location, const std::string& place,
                 const std::string& what) {
  const fs::path relative(location);
  if (location.empty() || location.find('\0') != std::string::npos) {
    refuse(place, what, location, "which is no path");
  }
  if (relative.is_absolute()) refuse(place, what, location, "an absolute path");
  for (const fs::path& part : relative) {
    if (part == "..") refuse(place, what, location, "a path with \"..\"");
  }
  std::error_code error;
  const fs::path home = fs::canonical(folder.empty() ? "." : folder, error);
  const fs::path file = error ? fs::path() : fs::canonical(home / relative, error);
  if (error) {
    throw UserError(place,
                    fmt::format("{} lies in {}, which cannot be read: {}", what,
                                (fs::path(folder) / relative).string(), error.message()),
                    kBeside);
  }
  const fs::path inside = file.lexically_relative(home);
  if (inside.empty() || *inside.begin() == "..") {
    refuse(place, what, location, "a symbolic link that leaves the folder");
  }
  return file;
}

}  // namespace

MappedData::MappedData(const std::string& folder, const std::string& location,
                       const std::string& place, const std::string& what) {
  path_ = resolve(folder, location, place, what).string();
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  const bool readable = file >= 0 && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const int error = file < 0 ? errno : EINVAL;
  if (readable && status.st_size > 0) {
    size_ = status.st_size;
    void* mapped = ::mmap(nullptr, static_cast<size_t>(size_), PROT_READ, MAP_PRIVATE, file, 0);
    data_ = mapped == MAP_FAILED ? nullptr : static_cast<const std::byte*>(mapped);
  }
  if (file >= 0) ::close(file);
  if (!readable || (size_ > 0 && data_ == nullptr)) {
    throw UserError(
        place,
        fmt::format("{} lies in {}, which cannot be read: {}", what, path_, std::strerror(error)),
        kBeside);
  }
}

MappedData::~MappedData() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), static_cast<size_t>(size_));
}

}  // namespace spmd::onnx
