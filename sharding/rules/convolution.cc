#include "sharding/rules/rules.h"

namespace spmd::rules {

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

  replicate_rest(fn, op, rule);  // spatial dimensions
  rule.linear_operands = {0, 1};
  rule.linear_in_each = true;
  return rule;
}

}  // namespace spmd::rules
