// States of a reshard: where each unit is.
#pragma once

#include <array>

#include "collectives/planning/cost_model.h"
#include "collectives/planning/reshard_problem.h"

namespace spmd::reshard {

inline constexpr size_t kMaxUnits = 16;
inline constexpr size_t kMaxDims = 14;
// Per unit its dimension (high half) and position there (low half), or one of these.
inline constexpr uint8_t kReplicatedCode = 0xff;
inline constexpr uint8_t kUnreducedCode = 0xfe;

struct State {
  std::array<uint8_t, kMaxUnits> places{};
  uint16_t emptied = 0;  // dimensions of which everything was gathered, when that is forbidden
  bool operator==(const State&) const = default;
};

// The code of a place, and of a position there.
uint8_t code_of(int place, int position);

// A state taken apart.
struct Lists {
  std::array<std::array<uint8_t, kMaxUnits>, kMaxDims> units;
  std::array<uint8_t, kMaxDims> count{};
  std::array<int64_t, kMaxDims> shards;
};
using Shards = std::array<int64_t, kMaxDims>;
using Counts = std::array<uint8_t, kMaxDims>;

class StateSpace {
 public:
  // At most kMaxUnits units and kMaxDims dimensions.
  StateSpace(const Problem& problem, const CostModel& cost);

  const State& source() const { return source_; }
  const State& target() const { return target_; }

  Lists decode(const State& state) const;
  int64_t local_bytes(const Lists& lists) const;

  // Picoseconds that any plan from here to the target still takes, at least: each rank must receive
  // the part of its target block that it does not hold, on average over ranks, and if that is not
  // nothing, in one collective or more.
  int64_t lower_bound(const State& state) const;

  // Appends a unit to a dimension of `state`, `shards` and `count`; false when the size does not
  // divide.
  bool append(State& state, Shards& shards, Counts& count, size_t unit, size_t dim) const;

 private:
  size_t num_units() const { return problem_.units.size(); }
  size_t num_dims() const { return problem_.dims.size(); }
  int64_t size(size_t unit) const { return problem_.units[unit].size; }
  State encode(const Layout& layout, bool source) const;
  double overlap_in(const Lists& lists, size_t d) const;
  double pending_ranks(const State& state) const;
  double missing_bytes(const Lists& lists) const;

  const Problem& problem_;
  const CostModel& cost_;
  double all_ranks_ = 1;
  int64_t target_shards_ = 1;
  double target_bytes_ = 0;
  bool becomes_partial_ = false;
  State source_, target_;
};

}  // namespace spmd::reshard
