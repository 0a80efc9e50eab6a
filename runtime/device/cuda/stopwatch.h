// How long work keeps the GPU busy.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "runtime/device/cuda/gpu.h"

namespace spmd::cuda {

class Stopwatch {
 public:
  explicit Stopwatch(const Gpu& gpu) : gpu_(gpu) {
    for (CUevent* event : {&begin_, &end_})
      gpu_.check(gpu_.driver().EventCreate(event, CU_EVENT_DEFAULT), "making an event");
  }
  ~Stopwatch() {
    for (CUevent event : {begin_, end_}) gpu_.driver().EventDestroy(event);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  // Microseconds that `work` keeps the stream busy.
  double time(const std::function<void()>& work) const {
    gpu_.check(gpu_.driver().EventRecord(begin_, gpu_.stream()), "timing");
    work();
    gpu_.check(gpu_.driver().EventRecord(end_, gpu_.stream()), "timing");
    gpu_.check(gpu_.driver().EventSynchronize(end_), "timing");
    float milliseconds = 0;
    gpu_.check(gpu_.driver().EventElapsedTime(&milliseconds, begin_, end_), "timing");
    return 1000.0 * static_cast<double>(milliseconds);
  }

  // The same for `work` done once, on average over some milliseconds; nullopt when it fails. Work
  // that takes longer than `most_us` the first time is not repeated.
  std::optional<double> each(const std::function<bool()>& work,
                             double most_us = std::numeric_limits<double>::infinity()) const {
    constexpr double kAllUs = 3000;
    bool works = true;
    const auto repeat = [&](int times) {
      return time([&] {
               for (int i = 0; i < times && works; ++i) works = work();
             }) /
             times;
    };
    double us = repeat(1);
    if (works && us <= most_us) us = repeat(2);
    if (works && us <= most_us)
      us = repeat(std::clamp(static_cast<int>(kAllUs / std::max(us, 1.0)), 3, 100));
    return works ? std::optional(us) : std::nullopt;
  }

 private:
  const Gpu& gpu_;
  CUevent begin_ = nullptr, end_ = nullptr;
};

}  // namespace spmd::cuda
