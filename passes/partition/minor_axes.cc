#include "passes/partition/minor_axes.h"

#include <algorithm>

#include "passes/partition/dimension_classes.h"
#include "passes/partition/reshards.h"
#include "sharding/propagation/propagation.h"

namespace spmd {
namespace {

class MinorAxes : ReshardRewriter {
 public:
  MinorAxes(Module& module, const CostModel& cost) : ReshardRewriter(module, cost) {}

  // One round: padding is found, and what it tears apart is released. Every round takes axes from
  // some op, so rounds end.
  MinorAxesReleased run() {
    std::vector<Placement> placements;
    placements.reserve(fn_.num_value_ids());
    for (size_t i = 0; i < fn_.num_value_ids(); ++i) {
      placements.push_back(placement(static_cast<ValueId>(i)));
    }
    const DimensionClasses classes(fn_, placements, atoms_, costs_);
    if (!classes.any_padding()) return {};
    std::vector<OpId> torn;
    walk(fn_, [&](OpId id) {
      if (const auto rule = factor_rule(fn_, id); rule && torn_axes(id, *rule, classes) != 0) {
        torn.push_back(id);
      }
    });
    for (OpId id : torn) {
      const FactorRule rule = *factor_rule(fn_, id);
      release(id, with_dependents(id, rule, torn_axes(id, rule, classes)));
    }
    return {.changed = !torn.empty(), .leaves_padding = true};
  }

 private:
  FactorAssignment assignment(const Op& op, const FactorRule& rule) const {
    std::vector<Placement> operands, results;
    for (ValueId operand : op.operands) operands.push_back(placement(operand));
    for (ValueId result : op.results) results.push_back(placement(result));
    return assignment_of(rule, operands, results, atoms_);
  }

  // Axes of minor factors of dimensions that are padded, or whose own dimension elsewhere is.
  AtomMask torn_axes(OpId id, const FactorRule& rule, const DimensionClasses& classes) const {
    const Op& op = fn_.op(id);
    std::vector<bool> minor(rule.factors.size(), false), padded(rule.factors.size(), false);
    const auto look = [&](const TensorFactors& tensor, ValueId value) {
      if (is_free_source(fn_, value)) return;
      for (size_t d = 0; d < tensor.dims.size(); ++d) {
        const bool grows = !tensor.dims[d].empty() && classes.is_padded(value, d);
        for (size_t f = 0; f < tensor.dims[d].size(); ++f) {
          const auto factor = static_cast<size_t>(tensor.dims[d][f]);
          minor[factor] = minor[factor] || f > 0;
          padded[factor] = padded[factor] || grows;
        }
      }
    };
    for (size_t i = 0; i < op.operands.size(); ++i) look(rule.operands[i], op.operands[i]);
    for (size_t i = 0; i < op.results.size(); ++i) look(rule.results[i], op.results[i]);
    const auto is_torn = [&](size_t f) { return minor[f] && padded[f]; };
    AtomMask torn = 0;
    for (size_t f = 0; f < minor.size(); ++f) {
      if (is_torn(f)) torn |= mask_of(assignment(op, rule).axes[f]);
    }
    return torn;
  }

  // Without them, factors after theirs have nothing to stand on.
  AtomMask with_dependents(OpId id, const FactorRule& rule, AtomMask axes) const {
    const FactorAssignment before = assignment(fn_.op(id), rule);
    FactorAssignment after = before;
    for (AtomList& list : after.axes) drop(list, axes);
    normalise(rule, after, atoms_);
    return before.mask() & ~after.mask();
  }

  static void drop(AtomList& list, AtomMask axes) {
    const auto is_dropped = [&](Atom atom) { return axes >> atom & 1; };
    list.erase(std::remove_if(list.begin(), list.end(), is_dropped), list.end());
  }

  Placement without(const Placement& placement, AtomMask axes) const {
    Placement rest = placement;
    for (AtomList& dim : rest.dims) drop(dim, axes);
    drop(rest.partial, axes);
    return rest;
  }

  void release(OpId id, AtomMask axes) {
    Builder before = Builder::before(fn_, id);
    before.location = fn_.op(id).location;
    for (size_t i = 0; i < fn_.op(id).operands.size(); ++i) {
      const ValueId operand = fn_.op(id).operands[i];
      const Op* made = reshard_of(operand);
      const bool alone = made != nullptr && has_one_use(operand);
      const ValueId source = alone ? made->operands[0] : operand;
      fn_.set_operand(id, i, reshard(before, source, without(placement(operand), axes)));
      erase_if_unused(operand);
    }
    Builder after = Builder::after(fn_, id);
    after.location = before.location;
    for (size_t i = 0; i < fn_.op(id).results.size(); ++i) {
      const ValueId result = fn_.op(id).results[i];
      const Placement promised = placement(result);
      const std::vector<Use> uses = fn_.value(result).uses;
      set_placement(result, without(promised, axes));
      // Reshards start from where the value now is; all others see it where it was.
      ValueId restored = ValueId::kNone;
      for (const Use& use : uses) {
        if (fn_.op(use.op).code == OpCode::kReshard) continue;
        if (restored == ValueId::kNone) restored = reshard(after, result, promised);
        fn_.set_operand(use.op, use.operand, restored);
      }
    }
  }
};

}  // namespace

MinorAxesReleased release_minor_axes(Module& module, const CostModel& cost) {
  bool changed = false;
  while (true) {
    const MinorAxesReleased round = MinorAxes(module, cost).run();
    if (!round.changed) return {changed, round.leaves_padding};
    changed = true;
  }
}

}  // namespace spmd
