#include "passes/hoist_reshards.h"

#include <algorithm>
#include <map>

#include "passes/partition/op_cost.h"
#include "passes/partition/reshards.h"
#include "sharding/propagation/propagation.h"

namespace spmd {
namespace {

constexpr int kMaxDepth = 12;

// What it takes to have a value in a placement.
struct Recipe {
  double seconds = 0;
  bool recompute = false;  // the defining op again, on operands by their recipes
};

class ReshardHoister : ReshardRewriter {
 public:
  ReshardHoister(Module& module, const CostModel& cost)
      : ReshardRewriter(module, cost), cost_(cost) {}

  bool run() {
    index_reshards();
    std::vector<OpId> reshards;
    walk(fn_, [&](OpId id) {
      if (fn_.op(id).code == OpCode::kReshard) reshards.push_back(id);
    });
    bool changed = false;
    for (OpId id : reshards) changed |= hoist(id);
    return changed;
  }

 private:
  // Orders the ops of each block, to know what is already there at a reshard.
  void index_reshards();
  bool hoist(OpId id);
  Recipe best(ValueId value, const Placement& target, int depth);
  double recompute_seconds(ValueId value, const Placement& target, int depth, double limit);
  bool is_recomputable(const Op& op) const;
  std::optional<FactorAssignment> assignment_for(const Op& op, const FactorRule& rule,
                                                 const Placement& target) const;
  ValueId build(ValueId value, const Placement& target, int depth, Builder& builder);
  ValueId available(ValueId value, const Placement& target) const;

  struct Known {
    Placement placement;
    ValueId value;
  };
  const CostModel& cost_;
  OpId here_ = OpId::kNone;  // the reshard under consideration
  std::vector<uint32_t> position_;
  std::unordered_map<ValueId, std::vector<Known>> known_;
  std::map<std::pair<ValueId, std::vector<AtomList>>, Recipe> memo_;
};

void ReshardHoister::index_reshards() {
  position_.assign(fn_.num_op_ids(), 0);
  uint32_t next = 0;
  walk(fn_, [&](OpId id) {
    position_[index_of(id)] = next++;
    const Op& op = fn_.op(id);
    if (op.code == OpCode::kReshard) {
      known_[op.operands[0]].push_back({placement(op.results[0]), op.results[0]});
    }
  });
}

// A version of the value that an earlier reshard of the same block made.
ValueId ReshardHoister::available(ValueId value, const Placement& target) const {
  if (placement(value) == target) return value;
  const auto found = known_.find(value);
  if (found == known_.end()) return ValueId::kNone;
  for (const Known& known : found->second) {
    const OpId def = fn_.value(known.value).def;
    if (def == here_ || fn_.is_erased(def) || fn_.op(def).block != fn_.op(here_).block) continue;
    if (known.placement == target && position_[index_of(def)] < position_[index_of(here_)]) {
      return known.value;
    }
  }
  return ValueId::kNone;
}

bool ReshardHoister::is_recomputable(const Op& op) const {
  if (op.results.size() != 1 || !op.regions.empty()) return false;
  switch (op.code) {
    case OpCode::kReshape:
    case OpCode::kTranspose:
    case OpCode::kBroadcastInDim: return true;
    default: return family_of(op.code) == OpFamily::kElementwise;
  }
}

// Axes of the op's factors when its result is placed at `target`; nullopt when the op cannot
// produce that.
std::optional<FactorAssignment> ReshardHoister::assignment_for(const Op& op,
                                                               const FactorRule& rule,
                                                               const Placement& target) const {
  FactorAssignment assignment = project(rule, rule.results[0], target, atoms_);
  normalise(rule, assignment, atoms_);
  if (!(place(rule, rule.results[0], assignment, atoms_).dims == target.dims)) return std::nullopt;
  return assignment;
}

double ReshardHoister::recompute_seconds(ValueId value, const Placement& target, int depth,
                                         double limit) {
  const Op* op = fn_.def(value);
  if (op == nullptr || depth >= kMaxDepth || !is_recomputable(*op)) return limit;
  // Across the border of a loop body, recomputing would run once per iteration.
  if (op->block != fn_.op(here_).block) return limit;
  const std::optional<FactorRule> rule = factor_rule(fn_, fn_.value(value).def);
  const std::optional<FactorAssignment> assignment = assignment_for(*op, *rule, target);
  if (!assignment) return limit;
  double parallel = 1;
  for (const AtomList& dim : target.dims) parallel *= static_cast<double>(atoms_.extent(dim));
  double seconds = op_seconds(fn_, *op, cost_) / parallel;
  for (size_t i = 0; i < op->operands.size() && seconds < limit; ++i) {
    if (is_free_source(fn_, op->operands[i])) continue;
    const Placement needed = place(*rule, rule->operands[i], *assignment, atoms_);
    seconds += best(op->operands[i], needed, depth + 1).seconds;
  }
  return std::min(seconds, limit);
}

Recipe ReshardHoister::best(ValueId value, const Placement& target, int depth) {
  const Placement now = placement(value);
  if (now == target || now.is_replicated() || available(value, target) != ValueId::kNone) {
    return {};
  }
  const auto key = std::pair(value, target.dims);
  if (const auto found = memo_.find(key); found != memo_.end()) return found->second;
  Recipe recipe{seconds(value, now, target), false};
  const double recomputed =
      recipe.seconds > 0 ? recompute_seconds(value, target, depth, recipe.seconds) : recipe.seconds;
  if (recomputed < recipe.seconds * (1 - 1e-9)) recipe = {recomputed, true};
  memo_[key] = recipe;
  return recipe;
}

ValueId ReshardHoister::build(ValueId value, const Placement& target, int depth,
                              Builder& builder) {
  if (const ValueId there = available(value, target); there != ValueId::kNone) return there;
  const Recipe recipe = is_free_source(fn_, value) ? Recipe{} : best(value, target, depth);
  ValueId result;
  if (recipe.recompute) {
    const OpId def = fn_.value(value).def;
    const FactorRule rule = *factor_rule(fn_, def);
    const FactorAssignment assignment = *assignment_for(fn_.op(def), rule, target);
    ValueMap operands;
    const std::vector<ValueId> old = fn_.op(def).operands;
    for (size_t i = 0; i < old.size(); ++i) {
      operands[old[i]] = build(old[i], place(rule, rule.operands[i], assignment, atoms_),
                               depth + 1, builder);
    }
    result = fn_.op(clone_op(fn_, def, builder, operands)).results[0];
    set_placement(result, target);
  } else {
    result = reshard(builder, value, target);
  }
  // Later reshards of the block may use it too.
  const OpId made = fn_.value(result).def;
  if (index_of(made) >= position_.size()) position_.resize(index_of(made) + 1, 0);
  position_[index_of(made)] = position_[index_of(here_)];
  if (result != value) known_[value].push_back({target, result});
  return result;
}

bool ReshardHoister::hoist(OpId id) {
  here_ = id;
  memo_.clear();
  const ValueId value = fn_.op(id).operands[0];
  const ValueId result = fn_.op(id).results[0];
  const Placement target = placement(result);
  if (!placement(value).partial.empty() || !target.partial.empty()) return false;
  if (is_free_source(fn_, value) || !best(value, target, 0).recompute) return false;
  Builder builder = Builder::before(fn_, id);
  builder.location = fn_.op(id).location;
  const ValueId made = build(value, target, 0, builder);
  fn_.replace_all_uses(result, made);
  fn_.erase_op(id);
  return true;
}

}  // namespace

Pass hoist_reshards_pass() {
  return {"hoist_reshards", "reshard what a value is made of, where that is cheaper",
          [](Module& module, PassContext& context) {
            if (module.mesh.num_axes() == 0) return false;
            return ReshardHoister(module, context.options.cost).run();
          }};
}

}  // namespace spmd
