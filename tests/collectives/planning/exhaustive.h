// The least cost of a reshard by trying everything, atom by atom: a check on plan_reshard.
#pragma once

#include <vector>

#include "collectives/planning/reshard.h"

namespace spmd::testing {

// Seconds; all steps that ReshardStep knows are tried in all dimensions, with the atoms that occur
// in either sharding; what the target has unreduced is not reduced.
struct Constraint {
  bool avoid_rematerialization = false;  // no dimension is sliced of which everything was gathered
  bool below_full_size = false;          // no rank ever holds the whole tensor
};
// Infinite when no path keeps to the constraint.
double least_seconds(const std::vector<int64_t>& shape, int64_t element_bytes, const Sharding& from,
                     const Sharding& to, const Mesh& mesh, const CostModel& cost,
                     Constraint constraint = {});

// The same from one sharding to each of several, over all axes of the mesh, in one search.
std::vector<double> least_seconds_to_each(const std::vector<int64_t>& shape, int64_t element_bytes,
                                          const Sharding& from,
                                          const std::vector<Sharding>& targets, const Mesh& mesh,
                                          const CostModel& cost, Constraint constraint = {});

}  // namespace spmd::testing
