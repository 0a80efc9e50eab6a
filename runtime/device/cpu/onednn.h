// The only file pair that knows oneDNN, and hides the differences between its versions 2 and 3.
#pragma once

#include <memory>

#include "runtime/device/cpu/gemm.h"

namespace spmd::cpu {

// A float32 convolution. Shapes are (batch, feature, spatial...) and (out feature, in feature per
// group, spatial...); strides in elements, any order.
struct ConvolutionProblem {
  std::vector<int64_t> input, kernel, out;
  std::vector<int64_t> input_strides, kernel_strides, out_strides;
  std::vector<int64_t> stride, dilation, pad_low, pad_high;  // dilation: of the window, 1 is none
  int64_t groups = 1;
};

class ConvolutionCall {
 public:
  virtual ~ConvolutionCall() = default;
  virtual void run(const void* input, const void* kernel, void* out) = 0;
};

// Null without oneDNN, or where it has no fast way for the matrices.
std::unique_ptr<Gemm> make_onednn_gemm(const GemmProblem& problem);

// Null without oneDNN, or when it has only its slow reference for the problem.
std::unique_ptr<ConvolutionCall> make_onednn_convolution(const ConvolutionProblem& problem);

}  // namespace spmd::cpu
