#include <algorithm>

#include "ir/builder.h"
#include "sharding/rules/rules.h"

namespace spmd::rules {

FactorRule reduction(const Function& fn, const Op& op) {
  FactorRule rule = empty_rule(fn, op);
  const Dims& dims = op.as<ReduceAttrs>().dims;
  const TensorType& operand = fn.type(op.operands[0]);
  const size_t count = op.results.size();
  const std::optional<OpCode> reducer = reducer_of(fn, op.regions[0]);
  const std::optional<ReductionKind> kind = reducer ? reduction_kind(*reducer) : std::nullopt;
  int64_t result_dim = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const bool reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
    const FactorKind factor_kind = !reduced ? FactorKind::kPassThrough
                                   : kind   ? FactorKind::kReduction
                                            : FactorKind::kNeedReplication;
    const int factor = rule.add_factor(operand.dim(d), factor_kind);
    for (size_t i = 0; i < count; ++i) put(rule.operands[i], d, factor);
    if (reduced) continue;
    for (TensorFactors& result : rule.results) put(result, result_dim, factor);
    ++result_dim;
  }
  if (kind) {
    rule.reduction = *kind;
    rule.once_operands = {static_cast<int>(count)};
    if (*kind == ReductionKind::kSum) rule.linear_operands = {0, 1};
  }
  return rule;
}

}  // namespace spmd::rules
