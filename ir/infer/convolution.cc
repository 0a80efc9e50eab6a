#include "ir/infer/checks.h"
#include "ir/infer/families.h"

namespace spmd::infer {

TensorType infer_convolution(const Types& in, const ConvolutionAttrs& a) {
  require_count(in, 2);
  const TensorType &input = in[0], &kernel = in[1];
  const size_t spatial = a.input_spatial.size();
  require(input.rank() == static_cast<int64_t>(spatial) + 2 && kernel.rank() == input.rank(),
          "convolution ranks do not match its dimension numbers");
  for (const Dims* dims : {&a.kernel_spatial, &a.output_spatial, &a.stride, &a.pad_low, &a.pad_high,
                           &a.lhs_dilation, &a.rhs_dilation}) {
    require(dims->size() == spatial, "convolution needs one window entry per spatial dimension");
  }
  require(a.reversal.size() == spatial, "convolution needs one reversal per spatial dimension");
  const auto check = [&](int64_t first, int64_t second, const Dims& rest) {
    Dims all = rest;
    all.insert(all.end(), {first, second});
    require_dims(all, input.rank(), "convolution dimension");
  };
  check(a.input_batch, a.input_feature, a.input_spatial);
  check(a.kernel_input_feature, a.kernel_output_feature, a.kernel_spatial);
  check(a.output_batch, a.output_feature, a.output_spatial);
  require(a.feature_group_count > 0 && a.batch_group_count > 0 &&
              input.dim(a.input_batch) % a.batch_group_count == 0 &&
              input.dim(a.input_feature) % a.feature_group_count == 0 &&
              input.dim(a.input_feature) / a.feature_group_count ==
                  kernel.dim(a.kernel_input_feature) &&
              kernel.dim(a.kernel_output_feature) % a.feature_group_count == 0 &&
              kernel.dim(a.kernel_output_feature) % a.batch_group_count == 0,
          "feature or batch groups do not divide {} by {}", input, kernel);
  TensorType result = input;
  const auto set = [&](int64_t dim, int64_t size) {
    result.shape[static_cast<size_t>(dim)] = size;
  };
  set(a.output_batch, input.dim(a.input_batch) / a.batch_group_count);
  set(a.output_feature, kernel.dim(a.kernel_output_feature));
  for (size_t i = 0; i < spatial; ++i) {
    set(a.output_spatial[i],
        window_positions(input.dim(a.input_spatial[i]), kernel.dim(a.kernel_spatial[i]),
                         a.stride[i], a.pad_low[i], a.pad_high[i], a.lhs_dilation[i],
                         a.rhs_dilation[i]));
  }
  return result;
}

}  // namespace spmd::infer
