// The least-cost search of plan_reshard over the places of the units of a problem.
#pragma once

#include <optional>
#include <vector>

#include "collectives/planning/reshard.h"
#include "collectives/planning/reshard_problem.h"

namespace spmd::reshard {

// A step in terms of a problem. `units` are major to minor.
struct Move {
  ReshardStep::Kind kind;
  int dim = 0;
  int to_dim = 0;
  std::vector<UnitId> units;
  Layout layout;  // of a permute: the layout after it
};

struct SearchLimits {
  int max_ways = 2500;  // ways from one state to another that are looked at
  // Only ways that lead to the target at once: for problems of many units.
  bool direct = false;
  // Refuses to slice a dimension of which everything was gathered.
  bool avoid_rematerialization = false;
  // Refuses to gather everything that shards the tensor on the way.
  bool below_full_size = false;
};

// The cheapest moves from the source to the target: by seconds, then number of moves, then bytes.
// nullopt when the limits end the search.
std::optional<std::vector<Move>> cheapest_moves(const Problem& problem, const CostModel& cost,
                                                const SearchLimits& limits);

// Reduces, gathers everything that moves, then slices: always possible.
std::vector<Move> plain_moves(const Problem& problem);

}  // namespace spmd::reshard
