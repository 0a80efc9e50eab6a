// Progress of compiling and training: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "launcher/terminal.h"

namespace spmd {

// "train:  38%|███▏    | 38/100 [00:21<00:34, 1.81 steps/s, loss=0.153]", `width` columns wide if
// the text leaves room for a bar.
std::string progress_bar(std::string_view label, int64_t done, int64_t total, double seconds,
                         std::string_view note, int width);

// "01:05", "2:10:00".
std::string clock_text(double seconds);

// Redraws one line of standard output at most 20 times a second. Draws nothing on anything but a
// terminal. The line goes with the object, unless finish() kept it.
class ProgressBar {
 public:
  ProgressBar(std::string label, Terminal terminal);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(int64_t done, int64_t total, std::string_view note);
  // Takes the line away.
  void clear();
  // Draws the last state and moves on to the next line.
  void finish();
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  void draw();

  std::string label_;
  Terminal terminal_;
  Clock::time_point start_ = Clock::now(), drawn_{};
  int64_t done_ = 0, total_ = 0;
  std::string note_;
  bool visible_ = false;
};

}  // namespace spmd
