#include <algorithm>

#include "sharding/rules/rules.h"

namespace spmd::rules {
namespace {

// Results along a spatial dimension look at windows of the input. Where the kernel is longer than
// the result it is the kernel that is worth sharding (the gradient of a kernel, which is made of
// the gradient of results): every rank sums over its own taps.
void spatial(const Function& fn, const Op& op, FactorRule& rule) {
  const auto& a = op.as<ConvolutionAttrs>();
  for (size_t i = 0; i < a.input_spatial.size(); ++i) {
    const int64_t rows = fn.type(op.operands[0]).dim(a.input_spatial[i]);
    const int64_t taps = fn.type(op.operands[1]).dim(a.kernel_spatial[i]);
    const int64_t results = fn.type(op.results[0]).dim(a.output_spatial[i]);
    if (rows == 0 || taps == 0 || results == 0) continue;
    if (taps == 1 && a.stride[i] == 1 && a.lhs_dilation[i] == 1 && a.pad_low[i] == 0 &&
        a.pad_high[i] == 0) {
      const int factor = rule.add_factor(rows);
      put(rule.operands[0], a.input_spatial[i], factor);
      put(rule.results[0], a.output_spatial[i], factor);
    } else if (taps <= results) {
      const int factor = rule.add_exchanged(std::max(rows, results));
      put(rule.operands[0], a.input_spatial[i], factor);
      put(rule.results[0], a.output_spatial[i], factor);
    } else if (a.lhs_dilation[i] == 1 && !a.reversal[i]) {
      const int factor = rule.add_exchanged(std::max(rows, taps), FactorKind::kReduction);
      put(rule.operands[0], a.input_spatial[i], factor);
      put(rule.operands[1], a.kernel_spatial[i], factor);
    }
  }
}

}  // namespace

FactorRule convolution(const Function& fn, const Op& op) {
  FactorRule rule = empty_rule(fn, op);
  const auto& a = op.as<ConvolutionAttrs>();
  const TensorType& input = fn.type(op.operands[0]);
  const TensorType& kernel = fn.type(op.operands[1]);
  const int64_t batch_groups = a.batch_group_count, feature_groups = a.feature_group_count;

  // Batch (with batch groups: groups x batch; the groups are output features).
  const int64_t batch_size = input.dim(a.input_batch) / batch_groups;
  const int batch = rule.add_factor(batch_size);
  const int64_t groups = batch_groups * feature_groups;  // at most one of them exceeds 1
  const int group = groups > 1 ? rule.add_factor(groups) : -1;
  if (batch_groups > 1) put(rule.operands[0], a.input_batch, group);
  put(rule.operands[0], a.input_batch, batch);
  put(rule.results[0], a.output_batch, batch);

  const int64_t in_features = kernel.dim(a.kernel_input_feature);
  const int in_feature = rule.add_factor(in_features, FactorKind::kReduction);
  if (feature_groups > 1) put(rule.operands[0], a.input_feature, group);
  put(rule.operands[0], a.input_feature, in_feature);
  put(rule.operands[1], a.kernel_input_feature, in_feature);

  const int64_t out_features = kernel.dim(a.kernel_output_feature) / groups;
  const int out_feature = rule.add_factor(out_features);
  if (groups > 1) {
    put(rule.operands[1], a.kernel_output_feature, group);
    put(rule.results[0], a.output_feature, group);
  }
  put(rule.operands[1], a.kernel_output_feature, out_feature);
  put(rule.results[0], a.output_feature, out_feature);

  spatial(fn, op, rule);
  replicate_rest(fn, op, rule);
  rule.linear_operands = {0, 1};
  rule.linear_in_each = true;
  return rule;
}

}  // namespace spmd::rules
