#include "sharding/rules/rules.h"

namespace spmd::rules {

// Dimensions along which every window is one element pass through.
FactorRule window(const Function& fn, const Op& op) {
  FactorRule rule = empty_rule(fn, op);
  const auto& w = op.as<WindowAttrs>();
  const TensorType& operand = fn.type(op.operands[0]);
  const size_t tensors = op.code == OpCode::kSelectAndScatter ? 2 : op.results.size();
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const auto i = static_cast<size_t>(d);
    if (w.size[i] != 1 || w.stride[i] != 1 || w.base_dilation[i] != 1 || w.pad_low[i] != 0 ||
        w.pad_high[i] != 0) {
      continue;
    }
    const int factor = rule.add_factor(operand.dim(d));
    for (size_t t = 0; t < tensors; ++t) put(rule.operands[t], d, factor);
    for (TensorFactors& result : rule.results) put(result, d, factor);
  }
  replicate_rest(fn, op, rule);
  return rule;
}

}  // namespace spmd::rules
