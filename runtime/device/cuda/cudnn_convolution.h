// Convolutions by cuDNN.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/convolution_form.h"
#include "runtime/device/cuda/cudnn.h"

namespace spmd::cuda {

// How the tensors of a convolution lie: dense, with the features innermost or before the spatial
// dimensions.
enum class ConvolutionLayout { kFeaturesLast, kFeaturesFirst };

// [first, feature, spatial...]
std::vector<int64_t> strides_in(ConvolutionLayout layout, const std::vector<int64_t>& dims);

// Where x, w and y are.
struct ConvolutionData {
  std::byte *x = nullptr, *w = nullptr, *y = nullptr;
};

// A convolution that cuDNN has engines for, all of them deterministic and, for F32, exact in F32.
class CudnnConvolution {
 public:
  virtual ~CudnnConvolution() = default;

  // By cuDNN's names, its own choice first. Which of them work, build() says.
  virtual const std::vector<std::string>& engines() const = 0;
  // Makes an engine ready; false when it does not support the convolution.
  virtual bool build(size_t engine) = 0;
  // Of an engine that has been built.
  virtual int64_t workspace_bytes(size_t engine) const = 0;
  // False when cuDNN reports a failure.
  virtual bool run(size_t engine, const ConvolutionData& data, std::byte* workspace) = 0;
};

// A form whose tensors lie densely in `layout`. Null when cuDNN refuses it: `why` then says why.
// Throws what cudnn-frontend throws where parts of the library are missing.
std::unique_ptr<CudnnConvolution> make_cudnn_convolution(std::shared_ptr<Cudnn> cudnn,
                                                         const ConvolutionForm& form,
                                                         ConvolutionLayout layout,
                                                         plan::DType dtype, std::string& why);

}  // namespace spmd::cuda
