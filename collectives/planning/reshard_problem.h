// What a reshard has to move: the axes that change place, in units that travel together.
#pragma once

#include <vector>

#include "sharding/spec/sharding.h"

namespace spmd::reshard {

using UnitId = uint8_t;
// Per dimension of the problem the units that shard it, major to minor.
using Layout = std::vector<std::vector<UnitId>>;

// Places of a unit that are not dimensions.
inline constexpr int kReplicated = -1;
inline constexpr int kUnreduced = -2;

// Atoms that are neighbours in the source and in the target and have the same place in each.
struct Unit {
  AxisList atoms;
  int64_t size = 1;
  int source = kReplicated;  // a dimension of the problem, kReplicated or kUnreduced
  int target = kReplicated;
  int source_position = 0;  // orders the units of one place
  int target_position = 0;
};

// Axes that are major-most in a dimension of both shardings, or unreduced in both, stay and are no
// part of the search; neither are dimensions in which nothing changes.
struct Problem {
  std::vector<int64_t> dims;     // the tensor dimension of each dimension of the problem
  std::vector<int64_t> extents;  // the size of each, over the shards that stay
  std::vector<AxisList> fixed;   // per tensor dimension, the axes that stay
  AxisList fixed_unreduced;
  int64_t bytes = 0;  // local size when only the axes that stay shard
  std::vector<Unit> units;
  Layout source, target;
};

// `from` and `to` must have compatible atoms (see conflicts()) and, where both are unreduced, the
// same reduction. `spares`: a dimension in which nothing changes and axes that neither uses are
// part of the problem too, as room on the way.
Problem make_problem(const std::vector<int64_t>& shape, int64_t element_bytes, const Sharding& from,
                     const Sharding& to, const Mesh& mesh, bool spares = false);

// Whether only the places of the search shard the tensor.
bool may_be_whole(const Problem& problem);

// Splits units until those that may take each other's places have common sizes, so that a permute
// can exchange them. Returns whether anything was split.
bool split_units(Problem& problem, const Mesh& mesh);

// The atoms of a list that have more than one member.
AxisList proper_atoms(const AxisList& axes, const Mesh& mesh);

// Whether the two atoms overlap without being equal: they factor their axis differently.
bool conflicts(const AxisRef& a, const AxisRef& b, const Mesh& mesh);

}  // namespace spmd::reshard
