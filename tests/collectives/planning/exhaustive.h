// The least cost of a reshard by trying everything, atom by atom: a check on plan_reshard.
#pragma once

#include "collectives/planning/reshard.h"

namespace spmd::testing {

// Seconds; all steps that ReshardStep knows are tried in all dimensions, with the atoms that occur
// in either sharding; what the target has unreduced is not reduced. `avoid_rematerialization`: no
// dimension is sliced of which everything was gathered.
double least_seconds(const std::vector<int64_t>& shape, int64_t element_bytes, const Sharding& from,
                     const Sharding& to, const Mesh& mesh, const CostModel& cost,
                     bool avoid_rematerialization);

}  // namespace spmd::testing
