#include "launcher/isolated.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "support/error.h"

namespace spmd {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void work_in_child(const std::function<std::string()>& work, int out, bool quiet) {
  // A crash is an answer here, not something to keep a core of or to hand to another handler.
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, SIG_DFL);
  if (quiet) {
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  }
  std::string text;
  try {
    text = work();
  } catch (...) {
    std::abort();
  }
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count = write(out, text.data() + sent, text.size() - sent);
    if (count < 0 && errno != EINTR) break;
    if (count > 0) sent += static_cast<size_t>(count);
  }
  _exit(0);
}

// Reads until the other end closes; false when that takes too long.
bool read_all(int in, Clock::time_point deadline, std::string& text) {
  char bytes[4096];
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{in, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<long long>(left, 1 << 30)));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    const ssize_t count = read(in, bytes, sizeof bytes);
    if (count == 0) return true;
    if (count > 0) text.append(bytes, static_cast<size_t>(count));
  }
}

}  // namespace

std::string IsolatedOutcome::failure() const {
  if (timed_out) return fmt::format("took longer than {:g} s", limit_seconds);
  if (signal != 0) return fmt::format("crashed with signal {} ({})", signal, strsignal(signal));
  return {};
}

IsolatedOutcome run_isolated(const std::function<std::string()>& work, double seconds, bool quiet) {
  IsolatedOutcome outcome;
  outcome.limit_seconds = seconds;
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) throw UserError({}, "cannot make a pipe", "close other programs");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw UserError({}, "cannot start a process", "close other programs");
  if (child == 0) {
    close(ends[0]);
    work_in_child(work, ends[1], quiet);
  }
  close(ends[1]);
  const auto limit = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, 1e6)));
  if (!read_all(ends[0], Clock::now() + limit, outcome.text)) {
    outcome.timed_out = true;
    kill(child, SIGKILL);
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!outcome.timed_out && WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

}  // namespace spmd
