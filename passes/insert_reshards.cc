#include "passes/insert_reshards.h"

#include <algorithm>

#include "passes/partition/line.h"
#include "passes/partition/reshard_inserter.h"
#include "sharding/propagation/propagation.h"
#include "support/error.h"

namespace spmd {

void ReshardInserter::read_placements() {
  placements_.resize(fn_.num_value_ids());
  for (size_t i = 0; i < placements_.size(); ++i) {
    const Value& value = fn_.value(static_cast<ValueId>(i));
    placements_[i] = value.sharding ? to_placement(*value.sharding, atoms_)
                                    : Placement::replicated(value.type.rank());
    if (is_free_source(fn_, static_cast<ValueId>(i))) {
      placements_[i] = Placement::replicated(value.type.rank());
    }
  }
}

void ReshardInserter::set_placement(ValueId value, Placement placement) {
  fn_.value(value).sharding = shardings_.of(placement);
  if (placements_.size() <= index_of(value)) placements_.resize(index_of(value) + 1);
  placements_[index_of(value)] = std::move(placement);
}

bool ReshardInserter::encloses(BlockId outer, BlockId inner) const {
  while (inner != outer) {
    const OpId parent = fn_.block(inner).parent;
    if (parent == OpId::kNone) return false;
    inner = fn_.op(parent).block;
  }
  return true;
}

void ReshardInserter::visit_block(BlockId block) {
  for_each_op(fn_, block, [&](OpId id) { visit(id); });
}

void ReshardInserter::visit(OpId id) {
  const Op& op = fn_.op(id);
  if (std::optional<FactorRule> rule = factor_rule(fn_, id)) {
    visit_with_rule(id, *rule);
    return;
  }
  switch (op.code) {
    case OpCode::kReturn:
      if (fn_.block(op.block).parent != OpId::kNone) return;  // the parent op sees to it
      for (size_t i = 0; i < op.operands.size(); ++i) {
        require(id, i, to_placement(*fn_.result_info[i].sharding, atoms_));
      }
      return;
    case OpCode::kWhile:
      return visit_while(id);
    case OpCode::kIf:
    case OpCode::kCase:
      return visit_branches(id);
    case OpCode::kOptimizationBarrier:
      return visit_barrier(id);
    case OpCode::kPropagationBarrier:
    case OpCode::kShardingConstraint:
    case OpCode::kReshard:
      return visit_constraint(id);
    case OpCode::kShardingGroup:  // has done its work
      fn_.erase_op(id);
      changed_ = true;
      return;
    case OpCode::kManualComputation:
      return visit_manual(id);
    default:
      return visit_opaque(id);
  }
}

// ---- rewriting

const ReshardInserter::Version* ReshardInserter::find_version(ValueId value,
                                                              const Placement& target) const {
  const auto found = versions_.find(value);
  if (found == versions_.end()) return nullptr;
  for (const Version& version : found->second) {
    if (version.placement == target) return &version;
  }
  return nullptr;
}

ValueId ReshardInserter::reshard(Builder& builder, ValueId value, const Placement& target) {
  const ValueId result =
      builder.value(OpCode::kReshard, {value}, ReshardAttrs{to_sharding(target, atoms_)});
  set_placement(result, target);
  changed_ = true;
  return result;
}

// `target` is a copy: placements move when a reshard is made.
void ReshardInserter::require(OpId id, size_t operand, Placement target) {
  const ValueId value = fn_.op(id).operands[operand];
  if (placement(value) == target) return;
  std::vector<Version>& versions = versions_[value];
  const BlockId here = fn_.op(id).block;
  for (const Version& version : versions) {
    if (version.placement == target && encloses(version.block, here)) {
      fn_.set_operand(id, operand, version.value);
      return;
    }
  }
  Builder builder = Builder::before(fn_, id);
  builder.location = fn_.op(id).location;
  const ValueId version = reshard(builder, value, target);
  versions_[value].push_back({target, version, here});
  fn_.set_operand(id, operand, version);
}

// The result comes as `natural`; its users were promised placement(result).
void ReshardInserter::deliver(OpId id, size_t result, Placement natural) {
  const ValueId value = fn_.op(id).results[result];
  const Placement promised = placement(value);
  set_placement(value, natural);
  if (natural == promised || fn_.value(value).uses.empty()) return;
  Builder builder = Builder::after(fn_, id);
  builder.location = fn_.op(id).location;
  const std::vector<Use> uses = fn_.value(value).uses;
  const ValueId version = reshard(builder, value, promised);
  for (const Use& use : uses) fn_.set_operand(use.op, use.operand, version);
}

// A slice whose parts are joined anew is no op of its own: the concatenations take rows from where
// its operand has them.
bool ReshardInserter::feeds_joins(const Op& op) {
  if (op.code != OpCode::kSlice || fn_.value(op.results[0]).uses.empty()) return false;
  if (!placement(op.operands[0]).partial.empty()) return false;
  const std::vector<AtomList>& from = placement(op.operands[0]).dims;
  const Uses& uses = fn_.value(op.results[0]).uses;
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    const Op& user = fn_.op(use.op);
    if (user.code != OpCode::kConcatenate) return false;
    const int64_t dim = user.as<ConcatenateAttrs>().dim;
    return is_line_op(fn_, op, dim) && !from[static_cast<size_t>(dim)].empty() &&
           fn_.type(op.results[0]).dim(dim) > 0;
  });
}

// A slice that is small beside its operand may be found by the ranks that have it, and summed over
// all, as one at a place known only at run time is. Turns the op into that where it is cheaper.
bool ReshardInserter::becomes_dynamic(OpId id, const FactorRule& rule,
                                      const FactorAssignment& assignment) {
  const Op& op = fn_.op(id);
  const auto& slice = op.as<SliceAttrs>();
  const Placement& from = placement(op.operands[0]);
  bool cut = false;
  for (size_t d = 0; d < slice.start.size(); ++d) {
    if (slice.stride[d] != 1) return false;
    cut = cut || (!from.dims[d].empty() &&
                  fn_.type(op.results[0]).shape[d] < fn_.type(op.operands[0]).shape[d]);
  }
  if (!cut || !from.partial.empty()) return false;
  const double cost = choice_.cost_of(op, rule, assignment);
  const ValueId result = op.results[0];
  Builder builder = Builder::before(fn_, id);
  builder.location = op.location;
  std::vector<ValueId> operands = {op.operands[0]};
  for (int64_t start : slice.start) {
    operands.push_back(builder.scalar(DType::kS32, static_cast<double>(start)));
    set_placement(operands.back(), Placement());
  }
  const ValueId dynamic =
      builder.value(OpCode::kDynamicSlice, operands, DynamicSliceAttrs{fn_.type(result).shape});
  set_placement(dynamic, Placement(placement(result)));
  const OpId other = fn_.value(dynamic).def;
  const FactorRule other_rule = *factor_rule(fn_, other);
  const FactorAssignment best = choice_.choose(fn_.op(other), other_rule);
  if (choice_.cost_of(fn_.op(other), other_rule, best) < cost) {
    fn_.replace_all_uses(result, dynamic);
    fn_.erase_op(id);
    visit_with_rule(other, other_rule);
    return true;
  }
  fn_.erase_op(other);
  for (size_t i = 1; i < operands.size(); ++i) fn_.erase_op(fn_.value(operands[i]).def);
  return false;
}

// Where a concatenation gathers slices after all, they are cut from their gathered operand.
void ReshardInserter::cut_behind_gather(OpId id, const FactorRule& rule,
                                        const FactorAssignment& assignment) {
  for (size_t i = 0; i < fn_.op(id).operands.size(); ++i) {
    const ValueId source = choice_.source_of(fn_.op(id), i, assignment, rule);
    const Placement target = choice_.needed(fn_.op(id), rule, i, assignment);
    const ValueId part = fn_.op(id).operands[i];
    if (part == source || fn_.value(part).uses.size() != 1) continue;
    const OpId slice = fn_.value(part).def;
    if (fn_.op(slice).operands[0] != source || fn_.op(slice).block != fn_.op(id).block) continue;
    // Versions of its operand may have been made since it was visited.
    fn_.move_op(slice, fn_.op(id).block, id);
    require(slice, 0, target);
    set_placement(part, target);
  }
}

// A dimension that every device needs whole, and that was cut.
void ReshardInserter::report_gathers(const Op& op, const FactorRule& rule,
                                     const FactorAssignment& assignment) {
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Placement& now = placement(op.operands[i]);
    const AtomMask kept = choice_.needed(op, rule, i, assignment).mask();
    for (size_t d = 0; d < now.dims.size(); ++d) {
      const DimFactors& factors = rule.operands[i].dims[d];
      if (now.dims[d].empty() || (mask_of(now.dims[d]) & ~kept) == 0 || factors.empty()) continue;
      const Factor& factor = rule.factors[static_cast<size_t>(factors[0])];
      if (factor.kind != FactorKind::kNeedReplication) continue;
      context_.remark("insert_reshards", op,
                      fmt::format("{} needs dimension {} of {} whole: it is gathered on every "
                                  "device",
                                  name_of(op.code), d, to_string(fn_.type(op.operands[i]))));
    }
  }
}

void ReshardInserter::visit_with_rule(OpId id, const FactorRule& rule) {
  if (feeds_joins(fn_.op(id))) {
    const Placement& now = placement(fn_.op(id).operands[0]);
    const FactorAssignment as_it_is = project(rule, rule.operands[0], now, atoms_);
    if (place(rule, rule.operands[0], as_it_is, atoms_).dims == now.dims) {
      set_placement(fn_.op(id).results[0], choice_.produced(rule, 0, as_it_is));
      return;
    }
  }
  const FactorAssignment assignment = choice_.choose(fn_.op(id), rule);
  if (fn_.op(id).code == OpCode::kSlice && becomes_dynamic(id, rule, assignment)) return;
  report_gathers(fn_.op(id), rule, assignment);
  cut_behind_gather(id, rule, assignment);
  for (size_t i = 0; i < fn_.op(id).operands.size(); ++i) {
    require(id, i, choice_.needed(fn_.op(id), rule, i, assignment));
  }
  for (size_t i = 0; i < fn_.op(id).results.size(); ++i) {
    if (is_free_source(fn_, fn_.op(id).results[i])) {
      set_placement(fn_.op(id).results[i],
                    Placement::replicated(fn_.type(fn_.op(id).results[i]).rank()));
      continue;
    }
    deliver(id, i, choice_.produced(rule, i, assignment));
  }
}

Pass insert_reshards_pass() {
  return {"insert_reshards", "place operands as their ops need them",
          [](Module& module, PassContext& context) {
            if (module.mesh.num_axes() == 0) return false;
            return ReshardInserter(module, context).run();
          }};
}

}  // namespace spmd
