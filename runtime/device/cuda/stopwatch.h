// How long work keeps the GPU busy.
#pragma once

#include <functional>

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

 private:
  const Gpu& gpu_;
  CUevent begin_ = nullptr, end_ = nullptr;
};

}  // namespace spmd::cuda
