// ReshardCosts: memoised plans between placements.
#pragma once

#include <string>
#include <unordered_map>

#include "collectives/planning/reshard.h"
#include "ir/module.h"
#include "sharding/atoms.h"

namespace spmd {

// Sizes that do not divide are rounded up first, as padding will do. Along `manual` axes the tensor
// is not replicated though no placement names them: plans leave them alone.
class ReshardCosts {
 public:
  ReshardCosts(const AtomTable& atoms, const CostModel& cost) : atoms_(atoms), cost_(cost) {}

  const ReshardPlan& plan(const TensorType& type, const Placement& from, const Placement& to,
                          AtomMask manual);
  double seconds(const TensorType& type, const Placement& from, const Placement& to,
                 AtomMask manual);

 private:
  const AtomTable& atoms_;
  const CostModel& cost_;
  std::unordered_map<std::string, ReshardPlan> plans_;
};

// `shape` with every dimension rounded up to a multiple of the shards of both placements.
Dims rounded_up(const Dims& shape, const Placement& from, const Placement& to,
                const AtomTable& atoms);

// The axes of all manual computations around a block, and around where a value is made.
AtomMask manual_axes_around(const Function& fn, BlockId block, const AtomTable& atoms);
AtomMask manual_axes_around(const Function& fn, ValueId value, const AtomTable& atoms);

}  // namespace spmd
