#include "sharding/rules/rules.h"

namespace spmd::rules {
// Batches and heads are independent; positions mix, so each device has all of them. A head of keys
// serves a group of queries: its gradient is a sum over the group, which is therefore whole in the
// backward pass.
FactorRule attention(const Function& fn, const Op& op) {
  FactorRule rule = empty_rule(fn, op);
  const bool forward = op.code == OpCode::kAttention;
  const TensorType& query = fn.type(op.operands[0]);
  const auto tie = [&](int64_t size, FactorKind kind, int64_t of_query, int64_t of_key,
                       int64_t of_statistics) {
    const int factor = rule.add_factor(size, kind);
    const auto put_at = [&](TensorFactors& tensor, int64_t dim) {
      if (dim >= 0) put(tensor, dim, factor);  // -1: the tensor does not have it
    };
    put_at(rule.operands[0], of_query);
    put_at(rule.operands[1], of_key);
    put_at(rule.operands[2], of_key);
    put_at(rule.results[0], of_query);
    if (forward) return put_at(rule.results[1], of_statistics);
    put_at(rule.operands[3], of_query);
    put_at(rule.operands[4], of_statistics);
    put_at(rule.operands[5], of_query);
    put_at(rule.results[1], of_key);
    put_at(rule.results[2], of_key);
  };
  // Queries and outputs are [batch, position, head, group, size], keys and values [batch, position,
  // head, size], statistics [batch, head, group, position].
  tie(query.dim(0), FactorKind::kPassThrough, 0, 0, 0);
  tie(query.dim(2), FactorKind::kPassThrough, 2, 2, 1);
  tie(query.dim(3), forward ? FactorKind::kPassThrough : FactorKind::kNeedReplication, 3, -1, 2);
  replicate_rest(fn, op, rule);
  return rule;
}

}  // namespace spmd::rules
