// What an op costs one device, for placement decisions.
#pragma once

#include "collectives/planning/cost_model.h"
#include "passes/partition/assignment.h"

namespace spmd {

// Seconds of one device's share of the op under an assignment: FLOPs of contractions and
// convolutions over the device's rate, or the bytes it reads and writes over its memory bandwidth,
// whichever is more. Ops that the compiler turns into views or constants cost nothing.
double op_seconds(const Function& fn, const Op& op, const FactorRule& rule,
                  const FactorAssignment& assignment, const AtomTable& atoms,
                  const CostModel& cost);

}  // namespace spmd
