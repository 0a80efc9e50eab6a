#include "collectives/planning/reshard_state.h"

#include <algorithm>

namespace spmd::reshard {

uint8_t code_of(int place, int position) {
  if (place == kReplicated) return kReplicatedCode;
  if (place == kUnreduced) return kUnreducedCode;
  return static_cast<uint8_t>(place << 4 | position);
}

StateSpace::StateSpace(const Problem& problem, const CostModel& cost)
    : problem_(problem), cost_(cost) {
  for (const Unit& unit : problem.units) {
    all_ranks_ *= static_cast<double>(unit.size);
    if (unit.target >= 0) target_shards_ *= unit.size;
    if (unit.target == kUnreduced) becomes_partial_ = true;
  }
  target_bytes_ = static_cast<double>(problem.bytes / target_shards_);
  source_ = encode(problem.source, true);
  target_ = encode(problem.target, false);
}

State StateSpace::encode(const Layout& layout, bool source) const {
  State state;
  for (size_t u = 0; u < num_units(); ++u) {
    const Unit& unit = problem_.units[u];
    state.places[u] = code_of(std::min(source ? unit.source : unit.target, kReplicated), 0);
  }
  for (size_t d = 0; d < layout.size(); ++d) {
    for (size_t i = 0; i < layout[d].size(); ++i) {
      state.places[layout[d][i]] = code_of(static_cast<int>(d), static_cast<int>(i));
    }
  }
  return state;
}

Lists StateSpace::decode(const State& state) const {
  Lists lists;
  lists.shards.fill(1);
  for (size_t u = 0; u < num_units(); ++u) {
    const uint8_t code = state.places[u];
    if (code >= kUnreducedCode) continue;
    const size_t d = code >> 4;
    lists.units[d][code & 15] = static_cast<uint8_t>(u);
    ++lists.count[d];
    lists.shards[d] *= size(u);
  }
  return lists;
}

int64_t StateSpace::local_bytes(const Lists& lists) const {
  int64_t shards = 1;
  for (size_t d = 0; d < num_dims(); ++d) shards *= lists.shards[d];
  return problem_.bytes / shards;
}

// The part of the target interval that the present one covers in a dimension: on average over
// ranks where the two are independent of each other, else at most.
double StateSpace::overlap_in(const Lists& lists, size_t d) const {
  const std::vector<UnitId>& target = problem_.target[d];
  size_t same = 0;
  int64_t rest = lists.shards[d];
  while (same < target.size() && same < lists.count[d] && lists.units[d][same] == target[same]) {
    rest /= size(target[same++]);
  }
  int64_t target_rest = 1;
  bool independent = true;
  for (size_t i = same; i < target.size(); ++i) {
    target_rest *= size(target[i]);
    for (size_t j = same; j < lists.count[d]; ++j) independent &= lists.units[d][j] != target[i];
  }
  if (independent) return 1.0 / static_cast<double>(rest);
  return std::min(1.0, static_cast<double>(target_rest) / static_cast<double>(rest));
}

// The product of the units that are still to be reduced.
double StateSpace::pending_ranks(const State& state) const {
  double pending = 1;
  for (size_t u = 0; u < num_units(); ++u) {
    if (state.places[u] == kUnreducedCode && problem_.units[u].target != kUnreduced) {
      pending *= static_cast<double>(size(u));
    }
  }
  return pending;
}

double StateSpace::missing_bytes(const Lists& lists) const {
  double product = 1, least = 1;
  for (size_t d = 0; d < num_dims(); ++d) {
    double target = 1;
    for (UnitId unit : problem_.target[d]) target *= static_cast<double>(size(unit));
    product *= std::min(1.0, target / static_cast<double>(lists.shards[d]));
    least = std::min(least, overlap_in(lists, d));
  }
  return target_bytes_ * (1 - std::min(product, least));
}

int64_t StateSpace::lower_bound(const State& state) const {
  if (state.places == target_.places) return 0;
  const double pending = pending_ranks(state);
  double bytes = 0;
  if (becomes_partial_) {
    // Ranks that end with the identity need nothing.
    if (pending == 1) return 0;
  } else if (pending > 1) {
    // Of each element of the result one copy needs all contributions, every other at least itself.
    const double distinct = static_cast<double>(target_shards_) / all_ranks_;
    bytes = target_bytes_ * (distinct * (pending - 1) + (1 - distinct));
  } else {
    bytes = missing_bytes(decode(state));
    if (bytes <= 0) return 0;
  }
  // Steps round their bytes down.
  const double seconds = cost_.latency + std::max(0.0, bytes - 8) / cost_.bandwidth;
  return std::max<int64_t>(0, static_cast<int64_t>(seconds * 1e12) - 1);
}

bool StateSpace::append(State& state, Shards& shards, Counts& count, size_t unit,
                        size_t dim) const {
  shards[dim] *= size(unit);
  if (problem_.extents[dim] % shards[dim] != 0) return false;
  state.places[unit] = code_of(static_cast<int>(dim), count[dim]++);
  return true;
}

}  // namespace spmd::reshard
