#include "launcher/progress.h"

#include <algorithm>
#include <cstdio>

#include "support/error.h"

namespace spmd {
namespace {

// Eighths of a block, as tqdm draws them.
constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

std::string blocks(double share, int columns) {
  const int eighths = static_cast<int>(share * columns * 8);
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 > 0 ? 1 : 0);
  return text + std::string(static_cast<size_t>(std::max(columns - used, 0)), ' ');
}

std::string rate_text(double rate) {
  if (rate <= 0) return "? steps/s";
  return rate >= 1 ? fmt::format("{:.4g} steps/s", rate) : fmt::format("{:.3g} s/step", 1 / rate);
}

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::clamp(seconds, 0.0, 3.6e9));
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours == 0) return fmt::format("{:02}:{:02}", minutes, whole % 60);
  return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
}

void Pace::update(int64_t done, double seconds) {
  if (first_ == 0) {
    first_ = done;
    first_seconds_ = seconds;
  }
  done_ = done;
  seconds_ = seconds;
}

double Pace::rate() const {
  const bool more = done_ > first_;
  const int64_t steps = more ? done_ - first_ : done_;
  const double seconds = more ? seconds_ - first_seconds_ : seconds_;
  return steps > 0 && seconds > 0 ? static_cast<double>(steps) / seconds : 0;
}

std::string progress_bar(std::string_view label, int64_t done, int64_t total, double seconds,
                         double rate, std::string_view note, int width) {
  const double share =
      total > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) : 0;
  const std::string left = rate > 0 ? clock_text(static_cast<double>(total - done) / rate) : "?";
  const std::string head = fmt::format("{}: {:3.0f}%|", label, share * 100);
  std::string tail = fmt::format("| {}/{} [{}<{}", done, total, clock_text(seconds), left);
  tail += fmt::format(", {}{}{}]", rate_text(rate), note.empty() ? "" : ", ", note);
  const int room = width - static_cast<int>(head.size() + tail.size());
  return head + blocks(share, std::clamp(room, 0, 40)) + tail;
}

ProgressBar::ProgressBar(std::string label, Terminal terminal)
    : label_(std::move(label)), terminal_(terminal) {}

ProgressBar::~ProgressBar() { clear(); }

double ProgressBar::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void ProgressBar::advance(int64_t done, int64_t total) {
  done_ = done;
  total_ = total;
  pace_.update(done, seconds());
}

void ProgressBar::show(std::string_view note) {
  note_ = std::string(note);
  if (!terminal_.interactive || Clock::now() - drawn_ < std::chrono::milliseconds(50)) return;
  draw();
}

void ProgressBar::draw() {
  drawn_ = Clock::now();
  visible_ = true;
  // The last column stays free: terminals wrap there.
  const std::string line =
      progress_bar(label_, done_, total_, seconds(), rate(), note_, terminal_.width - 1);
  fmt::print("\r{}\x1b[K", line);
  std::fflush(stdout);
}

void ProgressBar::clear() {
  if (!visible_) return;
  std::fputs("\r\x1b[K", stdout);
  std::fflush(stdout);
  visible_ = false;
}

void ProgressBar::finish() {
  if (!terminal_.interactive) return;
  draw();
  fmt::print("\n");
  std::fflush(stdout);
  visible_ = false;
}

}  // namespace spmd
