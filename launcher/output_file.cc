#include "launcher/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/io/mapped_file.h"
#include "runtime/io/output_path.h"
#include "support/error.h"

namespace spmd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRemedy = "choose a place that can be written";

std::string temporary_name(const std::string& path) {
  return fmt::format("{}.{}.tmp", path, getpid());
}

[[noreturn]] void refuse(const std::string& path, std::string_view what) {
  throw UserError(path, fmt::format("{}: {}", what, std::strerror(errno)), kRemedy);
}

}  // namespace

void check_writable(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    throw UserError(path, "is a folder, expected the name of a file to write", kRemedy);
  }
  const OutputPath place = resolve_output(path);
  errno = 0;
  if (place.in_place) {
    // Only looked at: a pipe that is opened waits for its reader.
    if (access(path.c_str(), W_OK) != 0) refuse(path, "cannot write the file");
    return;
  }
  const std::string temporary = temporary_name(place.target);
  if (!std::ofstream(temporary)) refuse(path, "cannot write the file");
  fs::remove(temporary, error);
}

void make_output_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    throw UserError(path, fmt::format("cannot make the folder: {}", error.message()), kRemedy);
  }
  const std::string temporary = temporary_name((fs::path(path) / "probe").string());
  errno = 0;
  if (!std::ofstream(temporary)) refuse(path, "cannot write into the folder");
  fs::remove(temporary, error);
}

void write_whole_file(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes.data(), static_cast<int64_t>(bytes.size()));
  file.commit();
}

void ignore_file_size_signal() { std::signal(SIGXFSZ, SIG_IGN); }

std::string lost_output() {
  errno = 0;
  const bool lost = std::fflush(stdout) != 0;
  const int error = errno;
  if (!lost && !std::ferror(stdout)) return {};
  return fmt::format(
      "standard output: cannot be written{}\n  see that what it leads to is there and has room",
      lost ? fmt::format(": {}", std::strerror(error)) : "");
}

}  // namespace spmd
