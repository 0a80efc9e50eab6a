// For finding faults: every step is waited for, so that a failure names the step, and timed.
#pragma once

#include <deque>
#include <string>

#include "runtime/device/cuda/gpu.h"
#include "runtime/device/kernel.h"

namespace spmd::cuda {

class Trace {
 public:
  // Whether the environment variable SPMD_CUDA_TRACE is set, to anything but 0.
  static bool is_wanted();

  explicit Trace(const Gpu& gpu) : gpu_(gpu) {}
  // Prints the steps that took longest to standard error.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // The trace outlives the kernel.
  KernelPtr wrap(const plan::Step& step, bool on_host, KernelPtr kernel);

 private:
  struct Record {
    std::string kind, op;
    int64_t calls = 0;
    double milliseconds = 0;
  };
  class TracedKernel;

  const Gpu& gpu_;
  std::deque<Record> records_;  // addresses stay valid
};

}  // namespace spmd::cuda
