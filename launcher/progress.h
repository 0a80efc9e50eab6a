// Progress of compiling and training: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "launcher/terminal.h"

namespace spmd {

// How fast steps are done. The first one, which warms up what the others use, is left out once
// there are others.
class Pace {
 public:
  // `done` steps after `seconds` since the start.
  void update(int64_t done, double seconds);
  // Steps a second; 0: not known yet.
  double rate() const;

 private:
  int64_t first_ = 0, done_ = 0;  // first_: at the first update that had any
  double first_seconds_ = 0, seconds_ = 0;
};

// "train:  38%|███▏    | 38/100 [00:21<00:34, 1.81 steps/s, loss=0.153]", `width` columns wide if
// the text leaves room for a bar. `rate`: Pace::rate().
std::string progress_bar(std::string_view label, int64_t done, int64_t total, double seconds,
                         double rate, std::string_view note, int width);

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

  void advance(int64_t done, int64_t total);
  void show(std::string_view note);
  void update(int64_t done, int64_t total, std::string_view note) {
    advance(done, total);
    show(note);
  }
  // Takes the line away.
  void clear();
  // Draws the last state and moves on to the next line.
  void finish();
  double seconds() const;
  // Of what it has advanced by.
  double rate() const { return pace_.rate(); }

 private:
  using Clock = std::chrono::steady_clock;
  void draw();

  std::string label_;
  Terminal terminal_;
  Clock::time_point start_ = Clock::now(), drawn_{};
  int64_t done_ = 0, total_ = 0;
  Pace pace_;
  std::string note_;
  bool visible_ = false;
};

}  // namespace spmd
