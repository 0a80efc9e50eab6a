// Copies a strided window to dense memory, or back, with or without another element type.
#pragma once

#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/views.h"

namespace spmd::cuda {

class Packer {
 public:
  // `to` and `from` are strides over `shape`. Floats are rounded to `round` (INVALID: not) and then
  // converted. Null when the GPU cannot do it.
  static std::unique_ptr<Packer> make(CudaDevice& device, const std::vector<int64_t>& shape,
                                      const std::vector<int64_t>& to, plan::DType to_type,
                                      const std::vector<int64_t>& from, plan::DType from_type,
                                      plan::DType round);

  void run(std::byte* to, const std::byte* from) const;

 private:
  Packer(const Gpu& gpu, CUfunction function) : gpu_(gpu), function_(function) {}

  const Gpu& gpu_;
  CUfunction function_;
  bool converts_ = false;
  CopyParameters copy_;
  ConvertParameters convert_;
};

}  // namespace spmd::cuda
