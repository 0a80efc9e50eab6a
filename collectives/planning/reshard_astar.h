// A* over the states of a problem: the search, and the ways out of a state.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "collectives/planning/reshard_search.h"
#include "collectives/planning/reshard_state.h"

namespace spmd::reshard {

using Kind = ReshardStep::Kind;

struct Node {
  State state;
  int64_t picoseconds = 0;  // so far; integers, so that equal costs compare equal
  int64_t remaining = 0;    // lower bound
  int64_t bytes = 0;
  int32_t moves = 0;
  int32_t parent = -1;
  Kind kind = Kind::kSlice;
  uint8_t dim = 0, to_dim = 0;
};

struct Entry {
  int64_t estimate;
  int64_t bytes;
  int32_t moves;
  int32_t node;
  bool operator<(const Entry& other) const {  // for a queue of the smallest
    return std::tie(other.estimate, other.moves, other.bytes, other.node) <
           std::tie(estimate, moves, bytes, node);
  }
};

class Search {
 public:
  Search(const Problem& problem, const CostModel& cost, const SearchLimits& limits)
      : problem_(problem), space_(problem, cost), cost_(cost), limits_(limits) {
    slots_.assign(256, -1);
    nodes_.reserve(128);
  }

  std::optional<std::vector<Move>> run();

 private:
  size_t num_units() const { return problem_.units.size(); }
  size_t num_dims() const { return problem_.dims.size(); }
  int64_t size(size_t unit) const { return problem_.units[unit].size; }

  bool is_whole(const State& state) const {
    return state.places != space_.target().places &&
           std::all_of(state.places.begin(), state.places.begin() + num_units(),
                       [](uint8_t code) { return code >= kUnreducedCode; });
  }

  int64_t picoseconds(CollectiveKind kind, int64_t bytes, int64_t ranks) const {
    return std::llround(cost_.collective_seconds(kind, bytes, ranks) * 1e12);
  }

  int32_t& slot_of(const State& state);
  void grow();
  void relax(const State& next, Kind kind, size_t dim, size_t to_dim, int64_t bytes, int64_t ranks);

  void expand(int32_t node);
  void expand_directly();
  size_t wanted_prefix(size_t dim) const;
  void append_all(uint8_t from_code, Kind kind, size_t dim);
  void gather_from(size_t dim, size_t first);
  void all_to_alls();
  void appends(uint8_t from_code, Kind kind);
  void append_runs(uint8_t from_code, Kind kind);
  void all_reduces();
  void make_partial();
  void permutes();
  void arrange(size_t d, int64_t product, size_t length, State& state, std::vector<bool>& used,
               int& budget);
  void finish_arrangement(State& state, const std::vector<bool>& used);

  Move move_to(const Node& node) const;

  const Problem& problem_;
  const StateSpace space_;
  const CostModel& cost_;
  const SearchLimits limits_;
  std::vector<Node> nodes_;
  std::vector<int32_t> slots_;  // open addressing over nodes_
  std::priority_queue<Entry> queue_;
  // The state being expanded.
  int32_t current_ = 0;
  int ways_ = 0;
  State state_;
  Lists lists_;
  int64_t local_ = 0;
};

}  // namespace spmd::reshard
