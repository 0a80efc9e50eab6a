#include "launcher/interruption.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

namespace spmd {
namespace {

// Two texts, of which one is whole at any time: what the handler prints is never being written.
char texts[2][256];
std::atomic<const char*> spoken{""};
static_assert(std::atomic<const char*>::is_always_lock_free);

// Handlers call only what is safe in them. Nobody is left to hear of an error.
void say(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

void on_interruption(int signal) {
  // Below what a progress bar has drawn.
  if (isatty(STDERR_FILENO) != 0) say("\n");
  say(signal == SIGINT ? "spmd-run: interrupted (SIGINT)" : "spmd-run: told to end (SIGTERM)");
  say(spoken.load());
  ::raise(signal);  // to come when this returns, and to be handled as by default
}

}  // namespace

std::string how_far() {
  std::string text = std::string("ended") + spoken.load();
  text.pop_back();
  return text;
}

void say_how_far() {
  say("spmd-run: ended");
  say(spoken.load());
}

void answer_interruption() {
  note_steps(0, 0);
  struct sigaction action {};
  action.sa_handler = on_interruption;
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);
  }
}

void note_steps(int64_t done, int64_t steps) {
  char* text = spoken.load() == texts[0] ? texts[1] : texts[0];
  const auto end = steps == 0
                       ? fmt::format_to_n(text, sizeof texts[0] - 1, " before the first step\n")
                       : fmt::format_to_n(text, sizeof texts[0] - 1,
                                          " after step {}/{}: the final state is not written\n"
                                          "  it is written after the last step: run fewer at a "
                                          "time, --steps N --out FILE, and go on with --state "
                                          "FILE\n",
                                          done, steps);
  *end.out = '\0';
  spoken = text;
}

}  // namespace spmd
