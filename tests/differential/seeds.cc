#include "tests/differential/seeds.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace spmd::testing {
namespace {

volatile uint64_t current_seed = 0;

void report_crash(int signal) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, "crash in the program of seed %llu\n",
                                 static_cast<unsigned long long>(current_seed));
  if (write(STDERR_FILENO, text, static_cast<size_t>(size)) < 0) _exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

SeedRange seed_range(const char* variable, uint64_t count) {
  SeedRange range{1, count};
  if (const char* text = std::getenv(variable)) {
    char* end = nullptr;
    range.from = range.to = std::strtoull(text, &end, 10);
    if (*end == ':') range.to = end[1] == '\0' ? UINT64_MAX : std::strtoull(end + 1, nullptr, 10);
  }
  return range;
}

void announce_seed(uint64_t seed) {
  if (current_seed == 0) {
    for (int signal : {SIGSEGV, SIGABRT, SIGFPE}) std::signal(signal, report_crash);
  }
  current_seed = seed;
}

}  // namespace spmd::testing
