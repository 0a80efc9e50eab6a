// cuDNN, which is loaded when the program runs.
#pragma once

#include <memory>
#include <string>

#include "runtime/device/cuda/gpu.h"

namespace spmd::cuda {

// Why this process cannot use cuDNN; empty when it can. Loads the library, but starts no GPU.
std::string why_no_cudnn();
// 91002: 9.10.2; 0 without cuDNN.
size_t cudnn_version();

// cuDNN on one GPU, with the graphs that have been built for its kernels. Null without cuDNN.
class Cudnn;
std::shared_ptr<Cudnn> make_cudnn(const Gpu& gpu);

}  // namespace spmd::cuda
