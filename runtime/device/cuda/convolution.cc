#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/views.h"

namespace spmd::cuda {
namespace {

class ConvolutionKernel : public Kernel {
 public:
  ConvolutionKernel(CudaDevice& device, const plan::Convolution& step,
                    const ConvolutionParameters& parameters, const std::string& type)
      : gpu_(device.gpu()),
        input_(step.input()),
        kernel_(step.kernel()),
        out_(step.out()),
        parameters_(parameters),
        function_(device.library().find("convolution_" + type)) {}

  void run(const RunContext& context) override {
    if (parameters_.out.count == 0) return;
    gpu_.launch(function_, parameters_.out.count, parameters_, input_.data(context),
                kernel_.data(context), out_.data(context));
  }

 private:
  const Gpu& gpu_;
  BoundView input_, kernel_, out_;
  ConvolutionParameters parameters_;
  CUfunction function_;
};

}  // namespace

KernelPtr make_convolution(const plan::Convolution& step, CudaDevice& device) {
  const BoundView input(step.input()), kernel(step.kernel()), out(step.out());
  const auto type = kernel_type(out.dtype);
  const std::optional<Space> space = space_of(out.shape);
  if (!type || !space || !plan::is_float(out.dtype) || input.dtype != out.dtype ||
      kernel.dtype != out.dtype)
    return nullptr;
  ConvolutionParameters p;
  p.out = *space;
  put(out.strides, p.out_strides);
  put(input.strides, p.in_strides);
  put(kernel.strides, p.kernel_strides);
  put(input.shape, p.in_shape);
  const plan::Window& window = step.window();
  p.spatial = window.size_size();
  put(window.size(), p.size);
  put(window.stride(), p.stride);
  put(window.base_dilation(), p.base_dilation);
  put(window.window_dilation(), p.dilation);
  put(window.pad_low(), p.pad_low);
  for (int d = 0; d < window.reversal_size(); ++d) p.reversed[d] = window.reversal(d) ? 1 : 0;
  p.in_features = static_cast<int32_t>(kernel.shape[1]);
  p.group_features =
      static_cast<int32_t>(std::max<int64_t>(out.shape[1] / step.feature_groups(), 1));
  p.batch_groups = static_cast<int32_t>(step.batch_groups());
  p.batch_group_features =
      static_cast<int32_t>(std::max<int64_t>(out.shape[1] / step.batch_groups(), 1));
  return std::make_unique<ConvolutionKernel>(device, step, p, *type);
}

}  // namespace spmd::cuda
