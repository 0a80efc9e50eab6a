#include "passes/partition/recompute.h"

#include <algorithm>

#include "passes/partition/op_cost.h"
#include "sharding/propagation/propagation.h"

namespace spmd {
namespace {

constexpr int kMaxDepth = 16;

bool is_recomputable(const Op& op) {
  if (op.results.size() != 1) return false;
  switch (op.code) {
    case OpCode::kReshape:
    case OpCode::kTranspose:
    case OpCode::kBroadcastInDim:
    case OpCode::kReduce:
      return true;
    default:
      return family_of(op.code) == OpFamily::kElementwise;
  }
}

}  // namespace

std::optional<FactorAssignment> RecomputePlanner::assignment_for(const Op& op,
                                                                 const FactorRule& rule,
                                                                 const Placement& target) const {
  FactorAssignment assignment = project(rule, rule.results[0], target, atoms_);
  normalise(rule, assignment, atoms_);
  if (place(rule, rule.results[0], assignment, atoms_).dims != target.dims) return std::nullopt;
  return assignment;
}

double RecomputePlanner::recompute_seconds(ValueId value, const Placement& target, BlockId block,
                                           int depth, double limit) {
  const Op* op = fn_.def(value);
  // Out of the body of a loop, recomputing would run once per iteration.
  if (op == nullptr || depth >= kMaxDepth || op->block != block) return limit;
  if (op->code == OpCode::kReshard) {
    if (!placement_(op->operands[0]).partial.empty()) return limit;
    return std::min(limit, best(op->operands[0], target, block, depth + 1).seconds);
  }
  if (!is_recomputable(*op)) return limit;
  const std::optional<FactorRule> rule = factor_rule(fn_, fn_.value(value).def);
  const std::optional<FactorAssignment> assignment = assignment_for(*op, *rule, target);
  if (!assignment) return limit;
  double seconds = op_seconds(fn_, *op, *rule, *assignment, atoms_, cost_);
  for (size_t i = 0; i < op->operands.size() && seconds < limit; ++i) {
    if (is_free_source(fn_, op->operands[i])) continue;
    const Placement needed = place(*rule, rule->operands[i], *assignment, atoms_);
    seconds += best(op->operands[i], needed, block, depth + 1).seconds;
  }
  return std::min(seconds, limit);
}

Recipe RecomputePlanner::best(ValueId value, const Placement& target, BlockId block, int depth) {
  const Placement now = placement_(value);
  if (now == target || now.is_replicated() || available_(value, target)) return {};
  const auto key = std::pair(value, target.dims);
  if (const auto found = memo_.find(key); found != memo_.end()) return found->second;
  Recipe recipe{
      costs_.seconds(fn_.type(value), now, target, manual_axes_around(fn_, block, atoms_)), false};
  if (recipe.seconds > 0 && now.partial.empty() && target.partial.empty()) {
    const double recomputed = recompute_seconds(value, target, block, depth, recipe.seconds);
    if (recomputed < recipe.seconds * (1 - 1e-9)) recipe = {recomputed, true};
  }
  memo_[key] = recipe;
  return recipe;
}

}  // namespace spmd
