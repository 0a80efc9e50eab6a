#include "passes/defer_reductions.h"

#include <algorithm>

#include "passes/partition/reshards.h"
#include "sharding/propagation/propagation.h"

namespace spmd {
namespace {

class ReductionDeferrer : ReshardRewriter {
 public:
  ReductionDeferrer(Module& module, const CostModel& cost) : ReshardRewriter(module, cost) {}

  bool run() {
    bool any = false;
    for (bool changed = true; changed; any |= changed) {
      changed = false;
      std::vector<OpId> reshards, loops;
      walk(fn_, [&](OpId id) {
        if (fn_.op(id).code == OpCode::kReshard) reshards.push_back(id);
        if (fn_.op(id).code == OpCode::kWhile) loops.push_back(id);
      });
      for (OpId id : reshards) {
        while (!fn_.is_erased(id) && is_reduction(id) && advance(id)) changed = true;
      }
      for (OpId id : loops) changed |= defer_out_of(id);
    }
    return any;
  }

 private:
  // A reshard from a partial value to one that is not.
  bool is_reduction(OpId id) const {
    const Op& op = fn_.op(id);
    return op.code == OpCode::kReshard && !placement(op.operands[0]).partial.empty() &&
           placement(op.results[0]).partial.empty();
  }
  bool is_reduction(ValueId value) const {
    return reshard_of(value) != nullptr && is_reduction(fn_.value(value).def);
  }

  bool advance(OpId id);
  bool join_sum(OpId reshard, OpId sum);
  bool move_behind(OpId reshard, OpId user);
  bool is_movable_behind(OpId user) const;
  bool defer_out_of(OpId loop);
  bool defer_carry(OpId loop, size_t carry);

  // carried + terms, as a loop's body computes it.
  struct Sum {
    std::vector<ValueId> terms;    // reductions
    std::vector<ValueId> entries;  // where a loop inside takes the sum so far: reshards to parts
    std::vector<OpId> additions;
    bool has_carried = false;
  };
  bool collect_terms(ValueId value, ValueId carried, Sum& sum) const;
  ValueId entry_of(ValueId reduction) const;
};

// One step of a reduction towards its users. `id` stays a reshard op that may be moved on.
bool ReductionDeferrer::advance(OpId id) {
  const ValueId reduced = fn_.op(id).results[0];
  if (!has_one_use(reduced)) return false;
  const Use use = fn_.value(reduced).uses[0];
  if (fn_.op(use.op).block != fn_.op(id).block) return false;
  const OpCode code = fn_.op(use.op).code;
  if (code == OpCode::kAdd || code == OpCode::kSubtract) return join_sum(id, use.op);
  return move_behind(id, use.op);
}

bool ReductionDeferrer::join_sum(OpId id, OpId sum) {
  const std::vector<ValueId> operands = fn_.op(sum).operands;
  for (ValueId operand : operands) {
    if (!is_reduction(operand) || !has_one_use(operand)) return false;
    if (fn_.op(fn_.value(operand).def).block != fn_.op(sum).block) return false;
  }
  if (operands[0] == operands[1]) return false;
  const ValueId lhs = reshard_of(operands[0])->operands[0];
  const ValueId rhs = reshard_of(operands[1])->operands[0];
  const Placement partial = placement(lhs);
  if (!(partial == placement(rhs)) || partial.reduction != ReductionKind::kSum) return false;
  Builder builder = Builder::before(fn_, sum);
  builder.location = fn_.op(sum).location;
  const ValueId joined = builder.binary(fn_.op(sum).code, lhs, rhs);
  set_placement(joined, partial);
  const ValueId result = fn_.op(sum).results[0];
  const Placement target = placement(result);
  fn_.set_operand(id, 0, joined);
  fn_.op(id).as<ReshardAttrs>().sharding = to_sharding(target, atoms_);
  set_placement(fn_.op(id).results[0], target);
  fn_.move_op(id, fn_.op(sum).block, fn_.op(sum).next);
  fn_.replace_all_uses(result, fn_.op(id).results[0]);
  fn_.erase_op(sum);
  for (ValueId operand : operands) erase_if_unused(operand);
  return true;
}

bool ReductionDeferrer::is_movable_behind(OpId user) const {
  const Op& op = fn_.op(user);
  switch (op.code) {
    case OpCode::kTranspose:
    case OpCode::kReshape:
    case OpCode::kNegate:
    case OpCode::kSlice:
    case OpCode::kReduce:
      return true;
    case OpCode::kConvert: {
      // Rounding to a narrower type comes after the sum.
      const DType from = fn_.type(op.operands[0]).dtype, to = fn_.type(op.results[0]).dtype;
      return is_float(from) && is_float(to) && byte_size(to) == byte_size(from);
    }
    default:
      return false;
  }
}

bool ReductionDeferrer::move_behind(OpId id, OpId user) {
  if (!is_movable_behind(user)) return false;
  const std::optional<FactorRule> rule = factor_rule(fn_, user);
  const Op& op = fn_.op(user);
  if (!rule || rule->linear_operands.empty() || op.results.size() != 1) return false;
  const ValueId partial_value = fn_.op(id).operands[0];
  const Placement partial = placement(partial_value);
  const ValueId reduced = fn_.op(id).results[0];
  if (partial.reduction != ReductionKind::kSum || op.operands[0] != reduced) return false;
  // The op on the partial value: its factors sharded as the partial value has them.
  FactorAssignment assignment = project(*rule, rule->operands[0], partial, atoms_);
  normalise(*rule, assignment, atoms_);
  Placement shown = place(*rule, rule->operands[0], assignment, atoms_);
  if (shown.dims != partial.dims) return false;
  Placement natural = place(*rule, rule->results[0], assignment, atoms_);
  natural.partial = partial_axes(*rule, assignment);
  natural.partial.insert(natural.partial.end(), partial.partial.begin(), partial.partial.end());
  std::sort(natural.partial.begin(), natural.partial.end());
  natural.reduction = partial.reduction;
  const ValueId result = op.results[0];
  const Placement target = placement(result);
  if (!target.partial.empty()) return false;
  const double before = seconds(reduced, partial, placement(reduced));
  if (seconds(result, natural, target) > before * (1 + 1e-9)) return false;

  fn_.set_operand(user, 0, partial_value);
  if (op.code == OpCode::kReduce) {
    Placement once = Placement::replicated(0);
    once.partial = natural.partial;
    Builder builder = Builder::before(fn_, user);
    builder.location = op.location;
    ValueId init = op.operands[1];
    if (const Op* made = reshard_of(init)) init = made->operands[0];
    fn_.set_operand(user, 1, reshard(builder, init, once));
  }
  set_placement(result, natural);
  fn_.move_op(id, fn_.op(user).block, fn_.op(user).next);
  fn_.replace_all_uses(result, reduced);
  // `reduced` now has the type of the user's result.
  fn_.set_operand(id, 0, result);
  fn_.value(reduced).type = fn_.type(result);
  fn_.op(id).as<ReshardAttrs>().sharding = to_sharding(target, atoms_);
  set_placement(reduced, target);
  return true;
}

// ---- loops

bool ReductionDeferrer::defer_out_of(OpId loop) {
  bool changed = false;
  for (size_t i = 0; i < fn_.op(loop).operands.size(); ++i) changed |= defer_carry(loop, i);
  return changed;
}

// What a loop starts its carry from, when the value is the reduction of that carry's result, which
// starts as parts: a loop that was deferred before.
ValueId ReductionDeferrer::entry_of(ValueId reduction) const {
  const ValueId parts = reshard_of(reduction)->operands[0];
  const Op* loop = fn_.def(parts);
  if (loop == nullptr || loop->code != OpCode::kWhile) return ValueId::kNone;
  const auto at = std::find(loop->results.begin(), loop->results.end(), parts);
  const ValueId entry = loop->operands[static_cast<size_t>(at - loop->results.begin())];
  const bool parted = reshard_of(entry) != nullptr && placement(entry) == placement(parts);
  return parted && has_one_use(entry) ? entry : ValueId::kNone;
}

// Splits value = carried + terms. False when anything else is in the sum, or a part of it has other
// users.
bool ReductionDeferrer::collect_terms(ValueId value, ValueId carried, Sum& sum) const {
  if (value == carried) {
    const bool first = !sum.has_carried;
    sum.has_carried = true;
    return first && has_one_use(carried);
  }
  if (!has_one_use(value)) return false;
  if (is_reduction(value)) {
    sum.terms.push_back(value);
    const ValueId entry = entry_of(value);
    if (entry == ValueId::kNone) return true;
    Sum inside = sum;
    inside.entries.push_back(entry);
    const bool splits = collect_terms(reshard_of(entry)->operands[0], carried, inside);
    // A loop that starts from something else is a term like any other.
    if (splits && inside.has_carried && !sum.has_carried) sum = std::move(inside);
    return true;
  }
  const Op* op = fn_.def(value);
  if (op == nullptr || op->code != OpCode::kAdd) return false;
  sum.additions.push_back(fn_.value(value).def);
  return collect_terms(op->operands[0], carried, sum) &&
         collect_terms(op->operands[1], carried, sum);
}

bool ReductionDeferrer::defer_carry(OpId loop, size_t carry) {
  const Op& op = fn_.op(loop);
  const BlockId condition = op.regions[0], body = op.regions[1];
  const ValueId carried = fn_.block(body).args[carry];
  if (!fn_.value(fn_.block(condition).args[carry]).uses.empty()) return false;
  const OpId last = fn_.terminator(body);
  Sum sum;
  if (!collect_terms(fn_.op(last).operands[carry], carried, sum)) return false;
  if (!sum.has_carried || sum.terms.empty()) return false;
  const Placement partial = placement(reshard_of(sum.terms[0])->operands[0]);
  if (partial.reduction != ReductionKind::kSum) return false;
  for (ValueId term : sum.terms) {
    if (!(placement(reshard_of(term)->operands[0]) == partial)) return false;
  }
  const Placement whole = placement(carried);
  for (const std::vector<ValueId>& moved : {sum.terms, sum.entries}) {
    for (ValueId value : moved) {
      const ValueId source = reshard_of(value)->operands[0];
      fn_.replace_all_uses(value, source);
      erase_if_unused(value);
    }
  }
  for (OpId addition : sum.additions) set_placement(fn_.op(addition).results[0], partial);
  set_placement(carried, partial);
  set_placement(fn_.block(condition).args[carry], partial);
  Builder before = Builder::before(fn_, loop);
  before.location = fn_.op(loop).location;
  ValueId init = fn_.op(loop).operands[carry];
  if (const Op* made = reshard_of(init)) {
    if (is_free_source(fn_, made->operands[0])) init = made->operands[0];
  }
  fn_.set_operand(loop, carry, reshard(before, init, partial));
  const ValueId result = fn_.op(loop).results[carry];
  set_placement(result, partial);
  if (fn_.value(result).uses.empty()) return true;
  const std::vector<Use> uses = fn_.value(result).uses;
  Builder after = Builder::after(fn_, loop);
  after.location = fn_.op(loop).location;
  const ValueId reduced = reshard(after, result, whole);
  for (const Use& use : uses) fn_.set_operand(use.op, use.operand, reduced);
  return true;
}

}  // namespace

Pass defer_reductions_pass() {
  return {"defer_reductions", "reduce partial values late, together, and outside of loops",
          [](Module& module, PassContext& context) {
            if (module.mesh.num_axes() == 0) return false;
            return ReductionDeferrer(module, context.options.cost).run();
          }};
}

}  // namespace spmd
