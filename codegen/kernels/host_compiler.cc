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
#include <thread>

#include "codegen/kernels/temporary_folder.h"
#include "support/cpu_features.h"
#include "support/error.h"

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

// Starts a program that works on a part, what it says going to the part's log. 0: it cannot be.
pid_t start(const std::vector<std::string>& command, const TemporaryFolder& folder, size_t part) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, folder.log(part).c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    std::ofstream(folder.log(part)) << "it cannot be started: " << std::strerror(failed);
    return 0;
  }
  folder.set_worker(child, part);
  return child;
}

// Whether what start() has started succeeds.
bool finish(pid_t child, const TemporaryFolder& folder, size_t part) {
  if (child == 0) return false;
  int status = 0;
  bool ended = true;
  while (ended && waitpid(child, &status, 0) < 0) ended = errno == EINTR;
  folder.set_worker(0, part);
  return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Runs a program for each part, side by side. nullopt: all succeeded; else a part that did not.
std::optional<size_t> run(const std::vector<std::vector<std::string>>& commands,
                          const TemporaryFolder& folder) {
  std::vector<pid_t> children;
  for (size_t part = 0; part < commands.size(); ++part)
    children.push_back(start(commands[part], folder, part));
  if (children[0] != 0) announce_slow(children[0], commands[0][0]);
  std::optional<size_t> failed;
  for (size_t part = 0; part < commands.size(); ++part)
    if (!finish(children[part], folder, part) && !failed) failed = part;
  return failed;
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
  std::vector<std::string> flags = {"-std=c++17",
                                    "-O2",
                                    "-ftree-loop-vectorize",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-fno-exceptions",
                                    "-fno-rtti",
                                    "-fno-asynchronous-unwind-tables",
                                    "-w",
                                    "-fPIC"};
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

size_t HostCompiler::most_units() {
  return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, TemporaryFolder::kMostParts);
}

std::optional<std::string> HostCompiler::compile(const std::vector<std::string>& units,
                                                 std::string* error) const {
  SPMD_CHECK(!units.empty() && units.size() <= TemporaryFolder::kMostParts);
  const TemporaryFolder folder;
  if (!folder.exists()) {
    *error = fmt::format(
        "{}: cannot make a folder for temporary files: {}; TMPDIR names the place for them",
        TemporaryFolder::parent().string(), std::strerror(errno));
    return std::nullopt;
  }
  const auto fails = [&](const std::vector<std::vector<std::string>>& commands) {
    const std::optional<size_t> part = run(commands, folder);
    if (part)
      *error = fmt::format("{} failed: {}", command_[0], first_error(read_file(folder.log(*part))));
    return part.has_value();
  };
  for (size_t part = 0; part < units.size(); ++part)
    std::ofstream(folder.source(part), std::ios::binary) << units[part];
  const auto command = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = command_;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  std::vector<std::string> link = {"-shared", "-nostdlib", "-o", folder.output()};
  if (units.size() == 1) {
    link.push_back(folder.source());
  } else {
    std::vector<std::vector<std::string>> commands;
    for (size_t part = 0; part < units.size(); ++part) {
      commands.push_back(command({"-c", "-o", folder.object(part), folder.source(part)}));
      link.push_back(folder.object(part));
    }
    if (fails(commands)) return std::nullopt;
  }
  if (fails({command(link)})) return std::nullopt;
  std::string code = read_file(folder.output());
  if (!code.starts_with(kElfMagic)) {
    *error = fmt::format("{} ended well, but wrote no shared object", command_[0]);
    return std::nullopt;
  }
  return code;
}

}  // namespace spmd::codegen::kernels
