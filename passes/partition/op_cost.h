// What an op costs one device, for placement decisions.
#pragma once

#include "collectives/planning/cost_model.h"
#include "ir/module.h"

namespace spmd {

// Seconds of the whole op on one device: FLOPs of contractions and convolutions over the device's
// rate, bytes read and written over its memory bandwidth. Ops that the compiler turns into views or
// constants cost nothing.
double op_seconds(const Function& fn, const Op& op, const CostModel& cost);

}  // namespace spmd
