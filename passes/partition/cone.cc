#include "passes/partition/cone.h"

#include <algorithm>
#include <unordered_set>

#include "passes/partition/arithmetic.h"
#include "passes/partition/exchanged_op.h"
#include "passes/partition/op_cost.h"
#include "sharding/propagation/propagation.h"

namespace spmd {
namespace {

constexpr int kMaxConeDepth = 16;

bool may_be_node(const Op& op) {
  if (op.results.size() != 1) return false;
  switch (family_of(op.code)) {
    case OpFamily::kElementwise:
    case OpFamily::kShape:
    case OpFamily::kReduction:
      return true;
    default:
      return op.code == OpCode::kReduceWindow;
  }
}

}  // namespace

FactorAssignment ConePlanner::assignment_now(const Op& op, const FactorRule& rule) const {
  std::vector<Placement> operands, results;
  for (ValueId operand : op.operands) operands.push_back(placement_(operand));
  for (ValueId result : op.results) results.push_back(placement_(result));
  return assignment_of(rule, operands, results, atoms_);
}

double ConePlanner::exchange_seconds_now(const Op& op, const FactorRule& rule) const {
  const auto block = [&](ValueId value, int64_t dim) {
    return ceil_div(fn_.type(value).dim(dim), atoms_.extent(placement_(value).dims[at(dim)]));
  };
  return exchange_seconds({fn_, atoms_, placement_, block, {}, {}}, op, rule,
                          assignment_now(op, rule), cost_);
}

bool ConePlanner::exchanges(OpId id) const {
  const Op& op = fn_.op(id);
  if (!may_be_node(op) || family_of(op.code) == OpFamily::kElementwise) return false;
  const FactorRule rule = *factor_rule(fn_, id);
  const bool may = std::any_of(rule.factors.begin(), rule.factors.end(),
                               [](const Factor& factor) { return factor.exchanged; });
  return may && exchange_seconds_now(op, rule) > 0;
}

ValueId ConePlanner::source(ValueId value) const {
  while (const Op* op = fn_.def(value)) {
    if (op->code != OpCode::kReshard || op->block != block_) break;
    if (!placement_(op->operands[0]).partial.empty()) break;
    value = op->operands[0];
  }
  return value;
}

bool ConePlanner::is_node(ValueId value) const {
  const auto visit = visits_.find(value);
  return visit != visits_.end() && visit->second.collected;
}

bool ConePlanner::collect(ValueId value, const Placement& target, int depth) {
  const auto [visit, added] = visits_.try_emplace(value, Visit{target, false});
  if (!added) {
    if (visit->second.collected && !(visit->second.target == target)) agrees_ = false;
    return visit->second.collected;
  }
  const OpId def = fn_.value(value).def;
  if (def == OpId::kNone || depth == kMaxConeDepth) return false;
  const Op& op = fn_.op(def);
  if (op.block != block_ || !may_be_node(op) || !placement_(value).partial.empty()) return false;
  Cone::Node node{def, *factor_rule(fn_, def), {}, target};
  const auto assignment = recompute_.assignment_for(op, node.rule, target);
  if (!assignment) return false;
  node.assignment = *assignment;
  bool reaches = node.assignment == without_exchanges(node.rule, node.assignment) && exchanges(def);
  if (!reaches) {
    // Every way to an exchange belongs to the cone.
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const ValueId operand = source(op.operands[i]);
      if (is_free_source(fn_, operand)) continue;
      const Placement needed = place(node.rule, node.rule.operands[i], node.assignment, atoms_);
      reaches |= collect(operand, needed, depth + 1);
    }
  }
  if (!reaches) return false;
  visits_.at(value).collected = true;
  cone_.nodes.push_back(std::move(node));
  return true;
}

double ConePlanner::reading(const Cone& cone) const {
  double seconds = 0;
  std::unordered_set<ValueId> read;
  for (const Cone::Node& node : cone.nodes) {
    const Op& op = fn_.op(node.op);
    seconds += op_seconds(fn_, op, node.rule, node.assignment, atoms_, cost_);
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const ValueId value = source(op.operands[i]);
      if (is_free_source(fn_, value) || is_node(value) || !read.insert(value).second) continue;
      const Placement needed = place(node.rule, node.rule.operands[i], node.assignment, atoms_);
      seconds += recompute_.best(value, needed, block_).seconds;
    }
  }
  return seconds;
}

// What ops cost now that nothing needs once all users of the last one read the cone instead.
double ConePlanner::sparing(const Cone& cone) const {
  double seconds = 0;
  std::unordered_set<OpId> gone;
  const std::function<bool(ValueId)> unused = [&](ValueId value) {
    const Uses& uses = fn_.value(value).uses;
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      const Op& user = fn_.op(use.op);
      return gone.contains(use.op) || (user.code == OpCode::kReshard && unused(user.results[0]));
    });
  };
  for (auto node = cone.nodes.rbegin(); node != cone.nodes.rend(); ++node) {
    const Op& op = fn_.op(node->op);
    if (node != cone.nodes.rbegin() && !unused(op.results[0])) continue;
    gone.insert(node->op);
    seconds += op_seconds(fn_, op, node->rule, assignment_now(op, node->rule), atoms_, cost_) +
               exchange_seconds_now(op, node->rule);
  }
  return seconds;
}

std::optional<Cone> ConePlanner::plan(OpId reshard) {
  block_ = fn_.op(reshard).block;
  visits_.clear();
  cone_ = {};
  agrees_ = true;
  const Placement target = placement_(fn_.op(reshard).results[0]);
  const ValueId value = source(fn_.op(reshard).operands[0]);
  if (!target.partial.empty() || !placement_(value).partial.empty()) return std::nullopt;
  const AtomMask manual = manual_axes_around(fn_, block_, atoms_);
  if (costs_.seconds(fn_.type(value), target, placement_(value), manual) > 0) return std::nullopt;
  if (!collect(value, target, 0) || !agrees_) return std::nullopt;
  cone_.seconds = reading(cone_) - sparing(cone_);
  return std::move(cone_);
}

}  // namespace spmd
