// A convolution as cuDNN takes it: a form of it, and copies of what does not lie as it has to.
#pragma once

#include <optional>

#include "runtime/device/cuda/cudnn_convolution.h"
#include "runtime/device/cuda/packer.h"

namespace spmd::cuda {

// Where the views of a step are.
struct ConvolutionViews {
  std::byte *input = nullptr, *kernel = nullptr, *out = nullptr;
};

class LibraryConvolution {
 public:
  // Null when there is no cuDNN, or it has nothing for the step; `why` then says why.
  static std::unique_ptr<LibraryConvolution> make(const plan::Convolution& step, CudaDevice& device,
                                                  std::string& why);

  CudnnConvolution& cudnn() { return *cudnn_; }
  // With the copies, which lie before the library's.
  int64_t workspace_bytes(size_t engine) const {
    return packed_bytes_ + cudnn_->workspace_bytes(engine);
  }
  // False when cuDNN reports a failure.
  bool run(size_t engine, const ConvolutionViews& at, std::byte* workspace);
  // All that its time depends on but for the GPU.
  std::string text() const;

 private:
  // Which view of the step a tensor is, and where cuDNN finds it.
  struct Place {
    std::byte* ConvolutionViews::*view = nullptr;
    int64_t view_offset = 0;         // bytes, of what is used of it
    std::unique_ptr<Packer> packer;  // null: used where it lies
    int64_t packed_offset = 0;       // bytes
  };

  LibraryConvolution() = default;
  static std::unique_ptr<LibraryConvolution> make_of_forms(const plan::Convolution& step,
                                                           CudaDevice& device, std::string& why);
  bool place(CudaDevice& device, const plan::Convolution& step);
  bool place(CudaDevice& device, const plan::View& view, const ConvolutionTensor& tensor,
             bool is_result, Place& to);
  bool lies_in_layout(const ConvolutionTensor& tensor, ConvolutionLayout layout) const;

  ConvolutionForm form_;
  ConvolutionLayout layout_ = ConvolutionLayout::kFeaturesLast;
  plan::DType dtype_ = plan::INVALID;
  Place x_, w_, y_;
  int64_t packed_bytes_ = 0;
  std::unique_ptr<CudnnConvolution> cudnn_;
};

}  // namespace spmd::cuda
