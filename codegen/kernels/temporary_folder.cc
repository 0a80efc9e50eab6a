#include "codegen/kernels/temporary_folder.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

namespace spmd::codegen::kernels {
namespace {

namespace fs = std::filesystem;

constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};

// What a signal handler can reach. Strings change only while no handler is installed.
struct Work {
  std::mutex in_use;
  std::string folder, output;
  struct Part {
    std::string source, object, log;
    std::atomic<pid_t> worker{0};
  };
  std::array<Part, TemporaryFolder::kMostParts> parts;
  std::array<struct sigaction, kSignals.size()> before;
};

Work& work() {
  static Work the_work;
  return the_work;
}

// Calls nothing but what is safe in a signal handler. The signal is blocked until this returns, and
// is then handled as it was before.
void remove_and_end(int signal) {
  const int error = errno;
  Work& now = work();
  for (Work::Part& part : now.parts) {
    if (const pid_t worker = part.worker; worker > 0) kill(worker, SIGTERM);
    for (const std::string* file : {&part.source, &part.object, &part.log}) unlink(file->c_str());
  }
  unlink(now.output.c_str());
  rmdir(now.folder.c_str());
  for (size_t i = 0; i < kSignals.size(); ++i)
    if (kSignals[i] == signal) sigaction(signal, &now.before[i], nullptr);
  raise(signal);
  errno = error;
}

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = remove_and_end;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &work().before[i]);
    if (work().before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

void release_signals() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &work().before[i], nullptr);
}

}  // namespace

fs::path TemporaryFolder::parent() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen && *chosen ? chosen : "/tmp";
}

TemporaryFolder::TemporaryFolder() {
  Work& now = work();
  now.in_use.lock();
  now.folder.clear();
  std::string name = (parent() / "spmd-kernels-XXXXXX").string();
  if (!mkdtemp(name.data())) return;
  now.folder = name;
  now.output = name + "/kernels.so";
  for (size_t i = 0; i < kMostParts; ++i) {
    const std::string file = name + "/kernels" + (i == 0 ? "" : std::to_string(i));
    now.parts[i].source = file + ".cc";
    now.parts[i].object = file + ".o";
    now.parts[i].log = file + ".log";
  }
  catch_signals();
}

TemporaryFolder::~TemporaryFolder() {
  if (exists()) {
    std::error_code ignored;
    fs::remove_all(work().folder, ignored);
    release_signals();
  }
  work().in_use.unlock();
}

bool TemporaryFolder::exists() const { return !work().folder.empty(); }
std::string TemporaryFolder::output() const { return work().output; }
std::string TemporaryFolder::source(size_t part) const { return work().parts[part].source; }
std::string TemporaryFolder::object(size_t part) const { return work().parts[part].object; }
std::string TemporaryFolder::log(size_t part) const { return work().parts[part].log; }
void TemporaryFolder::set_worker(pid_t process, size_t part) const {
  work().parts[part].worker = process;
}

}  // namespace spmd::codegen::kernels
