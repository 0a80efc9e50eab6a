#include "sharding/rules/rules.h"

namespace spmd::rules {
namespace {

// Ties dimension `dim` of all tensors.
void tie(FactorRule& rule, int64_t dim, int factor) {
  for (TensorFactors& tensor : rule.operands) put(tensor, dim, factor);
  put(rule.results[0], dim, factor);
}

}  // namespace

// Batch dimensions pass through, and the columns (or rows) of right-hand sides; each transform and
// matrix is whole.
FactorRule linalg(const Function& fn, const Op& op) {
  FactorRule rule = empty_rule(fn, op);
  const int64_t rank = fn.type(op.operands[0]).rank();
  const int64_t batch = op.code == OpCode::kFft
                            ? rank - static_cast<int64_t>(op.as<FftAttrs>().length.size())
                            : rank - 2;
  const TensorType& operand = fn.type(op.operands[0]);
  for (int64_t d = 0; d < batch; ++d) tie(rule, d, rule.add_factor(operand.dim(d)));
  if (op.code == OpCode::kTriangularSolve) {
    const int64_t free = op.as<TriangularSolveAttrs>().left_side ? rank - 1 : rank - 2;
    const int factor = rule.add_factor(fn.type(op.operands[1]).dim(free));
    put(rule.operands[1], free, factor);
    put(rule.results[0], free, factor);
    rule.linear_operands = {1};
  }
  if (op.code == OpCode::kFft) {
    rule.linear_operands = {0};
    for (int64_t d = batch; d < rank; ++d) {
      const bool real = operand.dim(d) != fn.type(op.results[0]).dim(d);  // half of a spectrum
      if (!real && operand.dim(d) > 1) tie(rule, d, rule.add_kept(operand.dim(d)));
    }
  }
  replicate_rest(fn, op, rule);
  return rule;
}

}  // namespace spmd::rules
