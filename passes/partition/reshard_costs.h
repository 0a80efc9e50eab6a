// ReshardCosts: memoised plans between placements.
#pragma once

#include <string>
#include <unordered_map>

#include "collectives/planning/reshard.h"
#include "ir/type.h"
#include "sharding/atoms.h"

namespace spmd {

// Sizes that do not divide are rounded up first, as padding will do.
class ReshardCosts {
 public:
  ReshardCosts(const AtomTable& atoms, const CostModel& cost) : atoms_(atoms), cost_(cost) {}

  const ReshardPlan& plan(const TensorType& type, const Placement& from, const Placement& to);
  double seconds(const TensorType& type, const Placement& from, const Placement& to);

 private:
  const AtomTable& atoms_;
  const CostModel& cost_;
  std::unordered_map<std::string, ReshardPlan> plans_;
};

// `shape` with every dimension rounded up to a multiple of the shards of both placements.
Dims rounded_up(const Dims& shape, const Placement& from, const Placement& to,
                const AtomTable& atoms);

}  // namespace spmd
