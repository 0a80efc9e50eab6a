// One reshard as collectives and local ops.
#pragma once

#include "ir/builder.h"
#include "passes/partition/reshard_costs.h"

namespace spmd {

// Emits `plan` on the local value `value` and returns the local value in its new placement.
// `from` is the placement the plan starts at. A constant that is the identity of the reduction is
// partial as it is.
ValueId lower_reshard(Builder& builder, ValueId value, const Placement& from,
                      const ReshardPlan& plan, const AtomTable& atoms);

}  // namespace spmd
