// Convolutions: halos along sharded spatial dimensions, and groups that are split over ranks.
#include <algorithm>

#include "passes/partition/arithmetic.h"
#include "passes/partition/exchanged_op.h"

namespace spmd {
WindowPlan convolution_plan(const ExchangedFactor& factor) {
  const Op& op = factor.op;
  const Function& fn = factor.site.fn;
  const auto& a = op.as<ConvolutionAttrs>();
  const auto i = static_cast<size_t>(
      std::find(a.input_spatial.begin(), a.input_spatial.end(), factor.operand_dim(0)) -
      a.input_spatial.begin());
  const int64_t taps = fn.type(op.operands[1]).dim(a.kernel_spatial[i]);
  const int64_t results = fn.type(op.results[0]).dim(a.output_spatial[i]);
  const DType dtype = fn.type(op.operands[0]).dtype;
  const Filler zero{ValueId::kNone, Literal::splat({dtype, {}}, 0.0)};
  WindowPlan plan;
  if (factor.dim_in(factor.rule.results[0])) {
    const WindowDim window{taps, a.stride[i], a.lhs_dilation[i], a.rhs_dilation[i], a.pad_low[i]};
    plan.window = local_window(window, results,
                               factor.site.block(op.results[0], a.output_spatial[i]), factor.ranks);
    plan.needs.push_back(window_need(factor, 0, plan.window, zero));
    return plan;
  }
  // The gradient of a kernel: ranks have blocks of taps, and results take the part of the window.
  const int64_t block = block_of(factor, 1);
  RowNeed own_taps = block_need(factor, 1, block, zero);
  const WindowDim window{results, a.rhs_dilation[i], a.lhs_dilation[i], a.stride[i], a.pad_low[i]};
  plan.window = local_window(window, taps, block, factor.ranks);
  plan.needs.push_back(window_need(factor, 0, plan.window, zero));
  plan.needs.push_back(std::move(own_taps));
  return plan;
}

bool cuts_kernel_evenly(const ExchangedFactor& factor) {
  if (factor.dim_in(factor.rule.results[0])) return true;
  const int64_t taps = factor.site.fn.type(factor.op.operands[1]).dim(factor.operand_dim(1));
  return taps % factor.ranks == 0;
}

void localize_convolution(LocalOp& local) {
  auto& attrs = std::get<ConvolutionAttrs>(local.attrs);
  const TensorType& input = local.builder.function().type(local.operands[0]);
  const TensorType& kernel = local.builder.function().type(local.operands[1]);
  if (attrs.feature_group_count > 1) {
    attrs.feature_group_count =
        input.dim(attrs.input_feature) / kernel.dim(attrs.kernel_input_feature);
  }
  if (attrs.batch_group_count > 1) {
    // Groups are split over the same axes in the input's batch and in the output's features.
    attrs.batch_group_count = input.dim(attrs.input_batch) / local.types[0].dim(attrs.output_batch);
  }
}

}  // namespace spmd
