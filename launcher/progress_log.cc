#include "launcher/progress_log.h"

#include <algorithm>
#include <cmath>

#include "launcher/interruption.h"
#include "launcher/metrics.h"
#include "runtime/io/mapped_file.h"
#include "support/error.h"
#include "support/printable.h"

namespace spmd {
namespace {

// So many lines at most where nothing says how many.
constexpr int64_t kLines = 20;

Terminal terminal_for(const RunConfig& config) {
  if (config.log_progress == "off") return {};
  Terminal terminal = stdout_terminal();
  if (config.log_progress == "on") terminal.interactive = true;
  return terminal;
}

}  // namespace

ProgressLog::ProgressLog(const RunConfig& config, std::vector<std::string> metrics, int64_t steps,
                         int64_t batch_size)
    : metrics_(std::move(metrics)),
      steps_(steps),
      batch_size_(batch_size),
      every_(config.log_every.value_or((steps + kLines - 1) / kLines)),
      quiet_(config.log_progress == "off"),
      terminal_(terminal_for(config)),
      bar_("train", terminal_) {
  if (config.report) open(*config.report + "/metrics.jsonl");
  if (config.log_jsonl) open(*config.log_jsonl);
}

void ProgressLog::open(const std::string& path) {
  files_.push_back({path, std::ofstream(path)});
  if (files_.back().file) return;
  throw OutputError(path, "cannot write the file", "choose a place that can be written");
}

void ProgressLog::warn_of_nonsense(const StepReport& report) {
  if (warned_) return;
  std::string metrics;
  for (size_t i = 0; i < metrics_.size(); ++i) {
    if (std::isfinite(report.metrics[i])) continue;
    metrics +=
        fmt::format("{}{} is {}", metrics.empty() ? "" : ", ", metrics_[i], report.metrics[i]);
  }
  if (metrics.empty()) return;
  warned_ = true;
  bar_.clear();
  fmt::print(
      stderr,
      "spmd-run: warning: step {}/{}: {}; the run goes on, and says this once\n"
      "  look for a learning rate that is too high, a logarithm or square root of what is not "
      "positive, a division by zero,\n  and in the data: values that are not finite, indices out "
      "of range\n",
      report.step + 1, steps_, printable(metrics));
}

std::string ProgressLog::rates() const {
  const double rate = bar_.rate();
  std::string text = fmt::format("{:.4g} steps/s", rate);
  if (batch_size_ > 0) {
    text += fmt::format("  {:.4g} samples/s", rate * static_cast<double>(batch_size_));
  }
  const double left = rate > 0 ? static_cast<double>(steps_ - done_) / rate : 0;
  return text + "  eta " + clock_text(left);
}

void ProgressLog::step(const StepReport& report) {
  done_ = report.step + 1;
  bar_.advance(done_, steps_);
  note_steps(done_, steps_);
  for (Jsonl& jsonl : files_) {
    jsonl.file << metrics_line(report.step, metrics_, report.metrics) << "\n" << std::flush;
    if (!jsonl.file) {
      throw OutputError(jsonl.path, "cannot write the metrics", "see that the disk has room");
    }
  }
  warn_of_nonsense(report);
  if (quiet_) return;
  std::string values;
  for (size_t i = 0; i < metrics_.size(); ++i) {
    values +=
        fmt::format("{}{}={:.5g}", i > 0 ? "  " : "", printable(metrics_[i]), report.metrics[i]);
  }
  if (terminal_.interactive) {
    if (batch_size_ > 0) {
      const double samples = bar_.rate() * static_cast<double>(batch_size_);
      values = fmt::format("{:.4g} samples/s, {}", samples, values);
    }
    bar_.show(values);
  } else if (done_ % every_ == 0 || done_ == 1 || done_ == steps_) {
    fmt::print("step {}/{}  {}  {}\n", done_, steps_, values, rates());
    std::fflush(stdout);
  }
}

void ProgressLog::finish() { bar_.finish(); }

}  // namespace spmd
