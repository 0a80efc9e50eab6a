#include "tests/differential/soak.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>

#include "launcher/stages.h"
#include "support/error.h"
#include "support/strings.h"
#include "tests/differential/random_program.h"

namespace spmd::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kBatch = 64;  // programs of one child
// No program takes so long, however busy the machine is.
constexpr std::chrono::seconds kLongest{300};
constexpr std::chrono::seconds kBetweenLines{10};

volatile std::sig_atomic_t interrupted = 0;
void interrupt(int) { interrupted = 1; }

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// ---- the child: lines "seed N", "undecided ELEMENTS", "fail WHAT" (its line ends written as \1),
// "row ...", "end"

void say(int out, const std::string& line) {
  const std::string text = line + "\n";
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count = write(out, text.data() + sent, text.size() - sent);
    if (count < 0 && errno != EINTR) _exit(0);  // nobody listens any more
    if (count > 0) sent += static_cast<size_t>(count);
  }
}

[[noreturn]] void check_seeds(SeedRange seeds, int out) {
  Coverage coverage;
  for (uint64_t seed = seeds.from; seed <= seeds.to; ++seed) {
    say(out, fmt::format("seed {}", seed));
    std::optional<StageFailure> failure;
    try {
      StageOptions options = random_stages(seed);
      options.inspect = [&](const std::string& pass, const Module& m) { coverage.add(pass, m); };
      options.on_undecided = [&](int64_t elements) {
        say(out, fmt::format("undecided {}", elements));
      };
      const Module program = random_program(seed);
      coverage.add_drawn(program);
      failure = check_stages(program, options);
    } catch (const std::exception& error) {
      failure = StageFailure{"draw", false, error.what()};
    }
    if (!failure) continue;
    std::string what = failure->to_string();
    std::replace(what.begin(), what.end(), '\n', '\1');
    say(out, "fail " + what);
  }
  std::string rows = coverage.to_lines();
  for (size_t at = 0; at < rows.size();) {
    const size_t end = rows.find('\n', at);
    say(out, "row " + rows.substr(at, end - at));
    at = end + 1;
  }
  say(out, "end");
  _exit(0);
}

// ---- the parent

struct Worker {
  pid_t process = -1;
  int in = -1;
  SeedRange seeds;
  uint64_t seed = 0;  // being checked
  bool ended = false;
  std::string text;  // that came and is no whole line yet
  Clock::time_point heard = Clock::now();
};

class Soak {
 public:
  explicit Soak(const SoakOptions& options) : options_(options), next_(options.seeds.from) {}

  SoakResult run() {
    interrupted = 0;
    const auto old_int = std::signal(SIGINT, interrupt);
    const auto old_term = std::signal(SIGTERM, interrupt);
    while (true) {
      while (may_start()) start();
      if (workers_.empty()) break;
      listen();
      report(false);
    }
    report(true);
    std::signal(SIGINT, old_int);
    std::signal(SIGTERM, old_term);
    result_.last_seed = next_ - 1;
    return std::move(result_);
  }

 private:
  bool over() const {
    return interrupted != 0 || result_.failures.size() >= options_.most_failures ||
           (options_.seconds > 0 && seconds_since(start_) >= options_.seconds);
  }

  bool may_start() const {
    if (workers_.size() >= static_cast<size_t>(options_.jobs)) return false;
    return !again_.empty() || (!over() && next_ <= options_.seeds.to);
  }

  void start() {
    auto worker = std::make_unique<Worker>();
    if (!again_.empty()) {
      worker->seeds = again_.front();
      again_.pop_front();
    } else {
      worker->seeds = {next_, std::min(options_.seeds.to, next_ + kBatch - 1)};
      next_ = worker->seeds.to + 1;
    }
    int ends[2];
    SPMD_CHECK(pipe(ends) == 0);
    std::fflush(nullptr);
    worker->process = fork();
    SPMD_CHECK(worker->process >= 0);
    if (worker->process == 0) {
      std::signal(SIGINT, SIG_IGN);
      std::signal(SIGTERM, SIG_DFL);
      close(ends[0]);
      check_seeds(worker->seeds, ends[1]);
    }
    close(ends[1]);
    worker->in = ends[0];
    workers_.push_back(std::move(worker));
  }

  // Waits for the workers to say something.
  void listen() {
    std::vector<pollfd> waiting;
    for (const auto& worker : workers_) waiting.push_back({worker->in, POLLIN, 0});
    poll(waiting.data(), waiting.size(), 1000);
    for (size_t i = 0; i < waiting.size(); ++i) {
      Worker& worker = *workers_[i];
      if (waiting[i].revents != 0) {
        receive(worker);
      } else if (Clock::now() - worker.heard > kLongest) {
        kill(worker.process, SIGKILL);
        finish(worker, fmt::format("took longer than {} s", kLongest.count()));
      }
    }
    std::erase_if(workers_, [](const auto& worker) { return worker->in < 0; });
  }

  void receive(Worker& worker) {
    char bytes[4096];
    const ssize_t count = read(worker.in, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) return;
    worker.heard = Clock::now();
    if (count <= 0) return finish(worker, "");
    worker.text.append(bytes, static_cast<size_t>(count));
    size_t at = 0;
    for (size_t end; (end = worker.text.find('\n', at)) != std::string::npos; at = end + 1) {
      take(worker, worker.text.substr(at, end - at));
    }
    worker.text.erase(0, at);
  }

  void take(Worker& worker, const std::string& line) {
    const std::string_view text = line;
    if (text.starts_with("seed ")) {
      worker.seed = std::strtoull(line.c_str() + 5, nullptr, 10);
      ++result_.programs;
    } else if (text.starts_with("undecided ")) {
      result_.undecided += std::strtoull(line.c_str() + 10, nullptr, 10);
      ++result_.undecided_programs;
    } else if (text.starts_with("fail ")) {
      std::string what = line.substr(5);
      std::replace(what.begin(), what.end(), '\1', '\n');
      fail(worker.seed, std::move(what));
    } else if (text.starts_with("row ")) {
      result_.coverage.parse(line.substr(4));
    } else {
      worker.ended = true;
    }
  }

  // The end of a worker; of one that did not get to its own, the program that it was at fails.
  void finish(Worker& worker, std::string why) {
    close(worker.in);
    worker.in = -1;
    int status = 0;
    waitpid(worker.process, &status, 0);
    if (worker.ended) return;
    if (why.empty() && WIFSIGNALED(status)) {
      why =
          fmt::format("crashed with signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    fail(worker.seed, why.empty() ? "ended its process" : why);
    if (worker.seed < worker.seeds.to) again_.push_back({worker.seed + 1, worker.seeds.to});
  }

  void fail(uint64_t seed, std::string what) {
    result_.failures.push_back({seed, std::move(what)});
    const SoakFailure& failure = result_.failures.back();
    if (options_.progress) options_.progress(fmt::format("seed {}: {}", seed, failure.what));
  }

  void report(bool last) {
    if (!options_.progress || (!last && Clock::now() - reported_ < kBetweenLines)) return;
    reported_ = Clock::now();
    const double seconds = seconds_since(start_);
    options_.progress(fmt::format(
        "{} programs in {:.0f} s ({:.0f} a second), seeds {} to {}, {} failed, {} cells reached "
        "fewer than 20 times",
        with_thousands(static_cast<long long>(result_.programs)), seconds,
        static_cast<double>(result_.programs) / std::max(seconds, 1e-3), options_.seeds.from,
        next_ - 1, result_.failures.size(), result_.coverage.reached_less_than(20).size()));
  }

  const SoakOptions& options_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point reported_ = start_;
  uint64_t next_;
  std::deque<SeedRange> again_;  // what a worker that died had not come to
  std::vector<std::unique_ptr<Worker>> workers_;
  SoakResult result_;
};

}  // namespace

SoakResult soak(const SoakOptions& options) { return Soak(options).run(); }

}  // namespace spmd::testing
