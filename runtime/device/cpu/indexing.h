// Shared by the kernels of dynamic slices, gathers and scatters.
#pragma once

#include <memory>

#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cpu/kernel.h"

namespace spmd::cpu {

// Copies a box of elements between two places that vary from call to call.
class BoxCopy {
 public:
  BoxCopy(std::vector<int64_t> shape, std::vector<int64_t> out_strides,
          std::vector<int64_t> in_strides, int64_t element_bytes);
  void run(std::byte* out, const std::byte* in);

 private:
  Iteration it_;
  bool empty_;
  std::unique_ptr<Odometer> odometer_;
  int64_t bytes_;
  int log2_ = 0;
};

}  // namespace spmd::cpu
