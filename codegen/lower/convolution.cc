#include "codegen/lower/lower.h"
#include "codegen/lower/window.h"

namespace spmd::codegen {
namespace {

Dims order(int64_t first, int64_t second, const Dims& spatial) {
  Dims result = {first, second};
  result.insert(result.end(), spatial.begin(), spatial.end());
  return result;
}

}  // namespace

void lower_convolution(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  const auto& attrs = op.as<ConvolutionAttrs>();
  const View input = transposed(emitter.stored(op.operands[0]),
                                order(attrs.input_batch, attrs.input_feature, attrs.input_spatial));
  const View kernel = transposed(
      emitter.stored(op.operands[1]),
      order(attrs.kernel_output_feature, attrs.kernel_input_feature, attrs.kernel_spatial));
  const View out =
      transposed(emitter.define(op.results[0]),
                 order(attrs.output_batch, attrs.output_feature, attrs.output_spatial));

  plan::Convolution& step = *emitter.add_step().mutable_convolution();
  *step.mutable_input() = to_plan(input, true);
  *step.mutable_kernel() = to_plan(kernel, true);
  *step.mutable_out() = to_plan(out, true);
  plan::Window& window = *step.mutable_window();
  const size_t rank = attrs.input_spatial.size();
  for (size_t d = 0; d < rank; ++d) window.add_size(kernel.shape[d + 2]);
  set_per_dimension(window.mutable_stride(), attrs.stride, rank, 1);
  set_per_dimension(window.mutable_base_dilation(), attrs.lhs_dilation, rank, 1);
  set_per_dimension(window.mutable_window_dilation(), attrs.rhs_dilation, rank, 1);
  set_per_dimension(window.mutable_pad_low(), attrs.pad_low, rank, 0);
  set_per_dimension(window.mutable_pad_high(), attrs.pad_high, rank, 0);
  for (bool reversed : attrs.reversal) window.add_reversal(reversed);
  step.set_feature_groups(attrs.feature_group_count);
  step.set_batch_groups(attrs.batch_group_count);
}

}  // namespace spmd::codegen
