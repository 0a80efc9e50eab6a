#include "passes/hoist_reshards.h"

#include "passes/partition/recompute.h"
#include "passes/partition/reshards.h"
#include "sharding/propagation/propagation.h"

namespace spmd {
namespace {

class ReshardHoister : ReshardRewriter {
 public:
  ReshardHoister(Module& module, const CostModel& cost)
      : ReshardRewriter(module, cost),
        planner_(
            fn_, atoms_, costs_, cost, [this](ValueId value) { return placement(value); },
            [this](ValueId value, const Placement& target) {
              return available(value, target) != ValueId::kNone;
            }) {}

  bool run() {
    std::vector<OpId> reshards = index_reshards();
    bool changed = false;
    for (OpId id : reshards) changed |= hoist(id);
    return changed;
  }

 private:
  // Orders the ops, to know what is already there at a reshard. Returns the reshards.
  std::vector<OpId> index_reshards();
  bool hoist(OpId id);
  ValueId build(ValueId value, const Placement& target, Builder& builder);
  ValueId rebuild(ValueId value, const Placement& target, Builder& builder);
  ValueId available(ValueId value, const Placement& target) const;

  struct Known {
    Placement placement;
    ValueId value;
  };
  RecomputePlanner planner_;
  OpId here_ = OpId::kNone;  // the reshard under consideration
  std::vector<uint32_t> position_;
  std::unordered_map<ValueId, std::vector<Known>> known_;
};

std::vector<OpId> ReshardHoister::index_reshards() {
  position_.assign(fn_.num_op_ids(), 0);
  std::vector<OpId> reshards;
  uint32_t next = 0;
  walk(fn_, [&](OpId id) {
    position_[index_of(id)] = next++;
    const Op& op = fn_.op(id);
    if (op.code != OpCode::kReshard) return;
    reshards.push_back(id);
    known_[op.operands[0]].push_back({placement(op.results[0]), op.results[0]});
  });
  return reshards;
}

// The value itself, or a version of it that something earlier in the same block made.
ValueId ReshardHoister::available(ValueId value, const Placement& target) const {
  if (placement(value) == target) return value;
  const auto found = known_.find(value);
  if (found == known_.end()) return ValueId::kNone;
  for (const Known& known : found->second) {
    const OpId def = fn_.value(known.value).def;
    if (def == OpId::kNone || def == here_ || fn_.op(def).block != fn_.op(here_).block) continue;
    if (known.placement == target && position_[index_of(def)] <= position_[index_of(here_)]) {
      return known.value;
    }
  }
  return ValueId::kNone;
}

ValueId ReshardHoister::rebuild(ValueId value, const Placement& target, Builder& builder) {
  const OpId def = fn_.value(value).def;
  if (fn_.op(def).code == OpCode::kReshard) {
    return build(fn_.op(def).operands[0], target, builder);
  }
  const FactorRule rule = *factor_rule(fn_, def);
  const FactorAssignment assignment = *planner_.assignment_for(fn_.op(def), rule, target);
  ValueMap operands;
  const std::vector<ValueId> old = fn_.op(def).operands;
  for (size_t i = 0; i < old.size(); ++i) {
    operands[old[i]] = build(old[i], place(rule, rule.operands[i], assignment, atoms_), builder);
  }
  const ValueId result = fn_.op(clone_op(fn_, def, builder, operands)).results[0];
  set_placement(result, target);
  return result;
}

ValueId ReshardHoister::build(ValueId value, const Placement& target, Builder& builder) {
  if (const ValueId there = available(value, target); there != ValueId::kNone) return there;
  const bool recompute =
      !is_free_source(fn_, value) && planner_.best(value, target, fn_.op(here_).block).recompute;
  const ValueId result =
      recompute ? rebuild(value, target, builder) : reshard(builder, value, target);
  // Later reshards of the block may use it too.
  const OpId made = fn_.value(result).def;
  if (made != OpId::kNone && index_of(made) >= position_.size()) {
    position_.resize(index_of(made) + 1, position_[index_of(here_)]);
  }
  known_[value].push_back({target, result});
  return result;
}

bool ReshardHoister::hoist(OpId id) {
  here_ = id;
  planner_.clear();
  const ValueId value = fn_.op(id).operands[0];
  const ValueId result = fn_.op(id).results[0];
  const Placement target = placement(result);
  if (is_free_source(fn_, value) || !target.partial.empty()) return false;
  if (const ValueId there = available(value, target); there != ValueId::kNone) {
    fn_.replace_all_uses(result, there);
    fn_.erase_op(id);
    return true;
  }
  if (!planner_.best(value, target, fn_.op(id).block).recompute) return false;
  Builder builder = Builder::before(fn_, id);
  builder.location = fn_.op(id).location;
  const ValueId made = build(value, target, builder);
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
