#include "codegen/kernels/host_compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/cpu_features.h"

extern char** environ;

namespace spmd::codegen::kernels {
namespace {

namespace fs = std::filesystem;

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

// A folder that vanishes with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "spmd-kernels-XXXXXX").string();
    if (!error && mkdtemp(name.data())) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  bool exists() const { return !path_.empty(); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Runs a program, what it says going to file `log`; whether it succeeded.
bool run(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
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

bool is_gcc(const std::string& path) {
  std::error_code ignored;
  const std::string name = fs::canonical(path, ignored).filename().string();
  return name.find("g++") != std::string::npos && name.find("clang") == std::string::npos;
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
  for (const std::string& name : names)
    if (compiler.path_.empty()) compiler.path_ = find_program(name);
  struct stat about;
  if (compiler.path_.empty() || stat(compiler.path_.c_str(), &about) != 0) return std::nullopt;
  compiler.flags_ = compile_flags(is_gcc(compiler.path_));
  std::error_code ignored;
  compiler.identity_ = fmt::format("{} {} {}", fs::canonical(compiler.path_, ignored).string(),
                                   about.st_size, static_cast<int64_t>(about.st_mtime));
  for (const std::string& flag : compiler.flags_) compiler.identity_ += " " + flag;
  return compiler;
}

std::optional<std::string> HostCompiler::compile(const std::string& source,
                                                 std::string* error) const {
  const TemporaryFolder folder;
  if (!folder.exists()) {
    *error = "there is no folder for temporary files";
    return std::nullopt;
  }
  const std::string input = folder.file("kernels.cc"), output = folder.file("kernels.so"),
                    log = folder.file("log");
  std::ofstream(input, std::ios::binary) << source;
  std::vector<std::string> command = {path_};
  command.insert(command.end(), flags_.begin(), flags_.end());
  command.insert(command.end(), {"-o", output, input});
  if (!run(command, log)) {
    *error = fmt::format("{} failed: {}", path_, first_error(read_file(log)));
    return std::nullopt;
  }
  return read_file(output);
}

}  // namespace spmd::codegen::kernels
