// PlacementChoice: how an op is best cut, given where its operands are and its results should be.
#pragma once

#include <functional>

#include "passes/partition/assignment.h"
#include "passes/partition/recompute.h"

namespace spmd {

class PlacementChoice {
 public:
  // `placement` tells where a value is (or, of results, should be), `available` whether a version
  // of it in another placement is at hand.
  PlacementChoice(const Function& fn, const AtomTable& atoms, ReshardCosts& costs,
                  const CostModel& cost, std::function<Placement(ValueId)> placement,
                  std::function<bool(ValueId, const Placement&)> available)
      : fn_(fn),
        atoms_(atoms),
        costs_(costs),
        cost_(cost),
        placement_(placement),
        recompute_(fn, atoms, costs, cost, std::move(placement), std::move(available)) {}

  // The cheapest of what the placements of the op's tensors suggest.
  FactorAssignment choose(const Op& op, const FactorRule& rule);
  // Seconds of resharding operands (or computing them anew) and results, of exchanges, and of this
  // device's share of the work.
  double cost_of(const Op& op, const FactorRule& rule, const FactorAssignment& assignment);

  // What an assignment asks of an operand, and gives as a result.
  Placement needed(const Op& op, const FactorRule& rule, size_t operand,
                   const FactorAssignment& assignment) const;
  Placement produced(const FactorRule& rule, size_t result,
                     const FactorAssignment& assignment) const;
  // The value that an operand is made of when the assignment gathers it: of a concatenation, what
  // its slices are cut from.
  ValueId source_of(const Op& op, size_t operand, const FactorAssignment& assignment,
                    const FactorRule& rule) const;

 private:
  std::vector<FactorAssignment> candidates(const Op& op, const FactorRule& rule) const;
  double exchanges_of(const Op& op, const FactorRule& rule,
                      const FactorAssignment& assignment) const;

  const Function& fn_;
  const AtomTable& atoms_;
  ReshardCosts& costs_;
  const CostModel& cost_;
  std::function<Placement(ValueId)> placement_;
  RecomputePlanner recompute_;
};

}  // namespace spmd
