#include "codegen/kernels/host_compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "codegen/kernels/temporary_folder.h"
#include "support/cpu_features.h"

extern char** environ;

namespace spmd::codegen::kernels {
namespace {

namespace fs = std::filesystem;

constexpr int kPatienceSeconds = 10;
constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";

// A program by name, as the shell finds it; empty: there is none.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

// CXX as make reads it, a command of several words; or a program whose path has blanks.
std::vector<std::string> words_of(const std::string& command) {
  if (!find_program(command).empty()) return {command};
  std::istringstream text(command);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Says once what is waited for when that takes long.
void announce_slow(pid_t child, const std::string& program) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (handle < 0) return;
  pollfd ended{handle, POLLIN, 0};
  if (poll(&ended, 1, kPatienceSeconds * 1000) == 0)
    fmt::print(stderr,
               "note: {} has been compiling kernels for {} s and is waited for\n"
               "  --codegen off runs without them\n",
               program, kPatienceSeconds);
  close(handle);
}

// Runs a program in the folder, what it says going to its log; whether it succeeded.
bool run(const std::vector<std::string>& command, const TemporaryFolder& folder) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, folder.log().c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    std::ofstream(folder.log()) << "it cannot be started: " << std::strerror(failed);
    return false;
  }
  folder.set_worker(child);
  announce_slow(child, command[0]);
  int status = 0;
  bool ended = true;
  while (ended && waitpid(child, &status, 0) < 0) ended = errno == EINTR;
  folder.set_worker(0);
  return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The line of a compiler's log that says what is wrong.
std::string first_error(const std::string& log) {
  std::istringstream lines(log);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (first.empty()) first = line;
    if (line.find("error") != std::string::npos) return line;
  }
  return first.empty() ? "it says nothing" : first;
}

// The programs that a command names: a compiler, and what is put before it.
std::vector<std::string> programs_of(const std::vector<std::string>& command) {
  std::vector<std::string> programs;
  for (const std::string& word : command)
    if (std::string program = find_program(word); !program.empty())
      programs.push_back(std::move(program));
  return programs;
}

bool is_gcc(const std::string& path) {
  std::error_code ignored;
  const std::string name = fs::canonical(path, ignored).filename().string();
  return name.find("g++") != std::string::npos && name.find("clang") == std::string::npos;
}

// The path, size and time of change of a program.
std::string identity_of(const std::string& path) {
  struct stat about {};
  stat(path.c_str(), &about);
  std::error_code ignored;
  return fmt::format("{} {} {} ", fs::canonical(path, ignored).string(), about.st_size,
                     static_cast<int64_t>(about.st_mtime));
}

std::vector<std::string> compile_flags(bool is_gcc) {
  // As the CPU's loops are compiled: what is added is rounded as it is multiplied. Of -O3 only what
  // makes these loops faster, since compiling takes long enough.
  std::vector<std::string> flags = {"-x",
                                    "c++",
                                    "-std=c++17",
                                    "-O2",
                                    "-ftree-loop-vectorize",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-fno-exceptions",
                                    "-fno-rtti",
                                    "-fno-asynchronous-unwind-tables",
                                    "-w",
                                    "-fPIC",
                                    "-shared",
                                    "-nostdlib"};
  if (is_gcc)
    flags.insert(flags.end(), {"-fvect-cost-model=dynamic", "--param=vect-epilogues-nomask=0"});
  const std::vector<std::string> features = cpu_features();
  for (size_t i = 1; i < features.size(); ++i) flags.push_back("-m" + features[i]);
  return flags;
}

}  // namespace

std::optional<HostCompiler> HostCompiler::find(std::string* error) {
  std::vector<std::string> names = {"c++", "g++", "clang++"};
  *error = "no C++ compiler (c++, g++ or clang++) is in PATH";
  if (const char* chosen = std::getenv("CXX"); chosen && *chosen) {
    names = {chosen};
    *error = fmt::format("the C++ compiler that CXX names, {}, is not there", chosen);
  }
  HostCompiler compiler;
  for (const std::string& name : names) {
    compiler.command_ = words_of(name);
    if (compiler.command_.empty()) continue;
    compiler.command_[0] = find_program(compiler.command_[0]);
    if (!compiler.command_[0].empty()) break;
  }
  if (compiler.command_.empty() || compiler.command_[0].empty()) return std::nullopt;
  const std::vector<std::string> programs = programs_of(compiler.command_);
  const std::vector<std::string> flags =
      compile_flags(std::any_of(programs.begin(), programs.end(), is_gcc));
  compiler.command_.insert(compiler.command_.end(), flags.begin(), flags.end());
  for (const std::string& program : programs) compiler.identity_ += identity_of(program);
  compiler.identity_ += fmt::format("{}", fmt::join(compiler.command_, " "));
  return compiler;
}

std::optional<std::string> HostCompiler::compile(const std::string& source,
                                                 std::string* error) const {
  const TemporaryFolder folder;
  if (!folder.exists()) {
    *error = fmt::format(
        "{}: cannot make a folder for temporary files: {}; TMPDIR names the place for them",
        TemporaryFolder::parent().string(), std::strerror(errno));
    return std::nullopt;
  }
  std::ofstream(folder.source(), std::ios::binary) << source;
  std::vector<std::string> command = command_;
  command.insert(command.end(), {"-o", folder.output(), folder.source()});
  if (!run(command, folder)) {
    *error = fmt::format("{} failed: {}", command_[0], first_error(read_file(folder.log())));
    return std::nullopt;
  }
  std::string code = read_file(folder.output());
  if (!code.starts_with(kElfMagic)) {
    *error = fmt::format("{} ended well, but wrote no shared object", command_[0]);
    return std::nullopt;
  }
  return code;
}

}  // namespace spmd::codegen::kernels
