// For finding faults and lost time: every step is waited for, so that a failure names the step, and
// timed.
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
  // Prints to standard error, by kind and by kernel, milliseconds, calls and GB/s: what the steps
  // have to move over the time they took, the wait included. Then the steps that took longest.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Of a step of `plan`. The trace outlives the kernel.
  KernelPtr wrap(const plan::Plan& plan, const plan::Step& step, bool on_host, KernelPtr kernel);

 private:
  struct Record {
    std::string kind, op;
    std::string kernel;  // its name in the Plan; of other steps the kind
    int64_t calls = 0;
    int64_t bytes = 0;  // of one call
    double milliseconds = 0;
  };
  class TracedKernel;

  void print_kernels() const;

  const Gpu& gpu_;
  std::deque<Record> records_;  // addresses stay valid
};

}  // namespace spmd::cuda
