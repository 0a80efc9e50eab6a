// Convolution of any kind by a kernel of ours.
#pragma once

#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/kernels/parameters.h"

namespace spmd::cuda {

class OwnConvolution {
 public:
  // Null when the GPU's kernels do not know the type, or have not that many elements.
  static std::unique_ptr<OwnConvolution> make(const plan::Convolution& step, CudaDevice& device);

  void run(const std::byte* input, const std::byte* kernel, std::byte* out) const;

 private:
  OwnConvolution(const Gpu& gpu, CUfunction function, const ConvolutionParameters& parameters)
      : gpu_(gpu), function_(function), parameters_(parameters) {}

  const Gpu& gpu_;
  CUfunction function_;
  ConvolutionParameters parameters_;
};

}  // namespace spmd::cuda
