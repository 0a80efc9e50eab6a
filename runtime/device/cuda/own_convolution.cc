#include "runtime/device/cuda/own_convolution.h"

#include "runtime/device/cuda/views.h"

namespace spmd::cuda {

std::unique_ptr<OwnConvolution> OwnConvolution::make(const plan::Convolution& step,
                                                     CudaDevice& device) {
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
  return std::unique_ptr<OwnConvolution>(
      new OwnConvolution(device.gpu(), device.library().find("convolution_" + *type), p));
}

void OwnConvolution::run(const std::byte* input, const std::byte* kernel, std::byte* out) const {
  if (parameters_.out.count > 0)
    gpu_.launch(function_, parameters_.out.count, parameters_, input, kernel, out);
}

}  // namespace spmd::cuda
