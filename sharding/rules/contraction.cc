#include <algorithm>

#include "sharding/rules/rules.h"

namespace spmd::rules {

FactorRule contraction(const Function& fn, const Op& op) {
  FactorRule rule = empty_rule(fn, op);
  const auto& attrs = op.as<DotAttrs>();
  const TensorType& lhs = fn.type(op.operands[0]);
  const TensorType& rhs = fn.type(op.operands[1]);
  int64_t result_dim = 0;
  for (size_t i = 0; i < attrs.lhs_batch.size(); ++i) {
    const int factor = rule.add_factor(lhs.dim(attrs.lhs_batch[i]));
    put(rule.operands[0], attrs.lhs_batch[i], factor);
    put(rule.operands[1], attrs.rhs_batch[i], factor);
    put(rule.results[0], result_dim++, factor);
  }
  const auto free_dims = [&](size_t operand, const TensorType& type, const Dims& batch,
                             const Dims& contracting) {
    for (int64_t d = 0; d < type.rank(); ++d) {
      const auto in = [&](const Dims& dims) {
        return std::find(dims.begin(), dims.end(), d) != dims.end();
      };
      if (in(batch) || in(contracting)) continue;
      const int factor = rule.add_factor(type.dim(d));
      put(rule.operands[operand], d, factor);
      put(rule.results[0], result_dim++, factor);
    }
  };
  free_dims(0, lhs, attrs.lhs_batch, attrs.lhs_contracting);
  free_dims(1, rhs, attrs.rhs_batch, attrs.rhs_contracting);
  for (size_t i = 0; i < attrs.lhs_contracting.size(); ++i) {
    const int factor = rule.add_factor(lhs.dim(attrs.lhs_contracting[i]), FactorKind::kReduction);
    put(rule.operands[0], attrs.lhs_contracting[i], factor);
    put(rule.operands[1], attrs.rhs_contracting[i], factor);
  }
  rule.linear_operands = {0, 1};
  rule.linear_in_each = true;
  return rule;
}

}  // namespace spmd::rules
