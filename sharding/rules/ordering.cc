#include "sharding/rules/rules.h"

namespace spmd::rules {

// All dimensions but the sorted one pass through. The largest of a dimension are among the largest
// of its blocks, so top_k takes it in blocks; a sort needs all of it.
FactorRule ordering(const Function& fn, const Op& op) {
  FactorRule rule = empty_rule(fn, op);
  const TensorType& operand = fn.type(op.operands[0]);
  const int64_t sorted = op.code == OpCode::kSort ? op.as<SortAttrs>().dim : operand.rank() - 1;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (d == sorted) continue;
    const int factor = rule.add_factor(operand.dim(d));
    for (TensorFactors& tensor : rule.operands) put(tensor, d, factor);
    for (TensorFactors& tensor : rule.results) put(tensor, d, factor);
  }
  if (op.code == OpCode::kTopK && operand.dim(sorted) > 1) {
    put(rule.operands[0], sorted, rule.add_exchanged(operand.dim(sorted)));
  }
  replicate_rest(fn, op, rule);
  return rule;
}

}  // namespace spmd::rules
