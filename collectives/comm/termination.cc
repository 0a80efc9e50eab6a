#include "collectives/comm/termination.h"

#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>

namespace spmd::comm {
namespace {

// Open MPI sends SIGKILL a second after SIGTERM, and at once where another rank has ended: the
// root, which says what became of the run, does not wait as long as the others.
constexpr int64_t kPatienceNs = 200'000'000;
constexpr int64_t kRootsGraceUs = 500'000, kGraceUs = 800'000;

std::atomic<int64_t> told_at{0};  // nanoseconds of the monotonic clock; 0: not told
static_assert(std::atomic<int64_t>::is_always_lock_free);
std::atomic<bool> has_spoken{false};
static_assert(std::atomic<bool>::is_always_lock_free);
char farewell[128];
void (*more_to_say)() = nullptr;
int64_t grace_us = kGraceUs;

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Handlers call only what is safe in them.
void on_termination(int) {
  int64_t never = 0;
  if (!told_at.compare_exchange_strong(never, now_ns())) return;
  const itimerval grace{{0, 0}, {0, grace_us}};
  setitimer(ITIMER_REAL, &grace, nullptr);
}

void on_time_up(int) {
  if (!has_spoken.load()) {
    // Nobody is left to hear of an error.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, farewell, std::strlen(farewell));
    if (more_to_say != nullptr) more_to_say();
  }
  _exit(128 + SIGTERM);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void answer_termination(int rank, void (*more)()) {
  more_to_say = more;
  grace_us = rank == 0 ? kRootsGraceUs : kGraceUs;
  fmt::format_to_n(farewell, sizeof farewell - 1,
                   "spmd-run: rank {}: was told to end (SIGTERM) while it computed\n", rank);
  handle(SIGALRM, on_time_up);
  handle(SIGTERM, on_termination);
}

void answer_termination_silently() { has_spoken = true; }

bool termination_is_due() {
  const int64_t at = told_at.load(std::memory_order_relaxed);
  return at != 0 && now_ns() - at > kPatienceNs;
}

}  // namespace spmd::comm
