// RecomputePlanner: resharding a value, or what it was computed from.
#pragma once

#include <functional>
#include <map>

#include "passes/partition/assignment.h"
#include "passes/partition/reshard_costs.h"

namespace spmd {

// The cheapest way to have a value in a placement.
struct Recipe {
  double seconds = 0;
  bool recompute = false;  // the defining op again, on operands by their own recipes
};

// Compares the reshard of a value with computing it anew in the target placement from operands
// that are cheaper to reshard, several cheap ops (elementwise, shape, reductions) up, within one
// block.
class RecomputePlanner {
 public:
  // `placement` tells where a value is, `available` whether a version of it in another placement is
  // at hand.
  RecomputePlanner(const Function& fn, const AtomTable& atoms, ReshardCosts& costs,
                   const CostModel& cost, std::function<Placement(ValueId)> placement,
                   std::function<bool(ValueId, const Placement&)> available)
      : fn_(fn),
        atoms_(atoms),
        costs_(costs),
        cost_(cost),
        placement_(std::move(placement)),
        available_(std::move(available)) {}

  // For a use in `block`. Results are remembered until clear().
  Recipe best(ValueId value, const Placement& target, BlockId block, int depth = 0);
  void clear() { memo_.clear(); }

  // Axes of the factors of an op whose (only) result is placed at `target`; nullopt when the op
  // cannot produce that without communication.
  std::optional<FactorAssignment> assignment_for(const Op& op, const FactorRule& rule,
                                                 const Placement& target) const;

 private:
  double recompute_seconds(ValueId value, const Placement& target, BlockId block, int depth,
                           double limit);

  const Function& fn_;
  const AtomTable& atoms_;
  ReshardCosts& costs_;
  const CostModel& cost_;
  std::function<Placement(ValueId)> placement_;
  std::function<bool(ValueId, const Placement&)> available_;
  std::map<std::pair<ValueId, std::vector<AtomList>>, Recipe> memo_;
};

}  // namespace spmd
