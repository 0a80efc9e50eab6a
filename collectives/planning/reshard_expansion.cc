// The ways out of a state: collectives and local steps.
#include <algorithm>

#include "collectives/planning/reshard_astar.h"

namespace spmd::reshard {
namespace {

constexpr int kMaxPlacements = 1000;  // units placed while permutes from one state are looked for

}  // namespace

void Search::gather_from(size_t dim, size_t first) {
  State next = state_;
  int64_t ranks = 1;
  for (size_t i = first; i < lists_.count[dim]; ++i) {
    const size_t unit = lists_.units[dim][i];
    ranks *= size(unit);
    next.places[unit] = kReplicatedCode;
  }
  const bool all = first == 0 && problem_.fixed[static_cast<size_t>(problem_.dims[dim])].empty();
  if (all && limits_.avoid_rematerialization) {
    next.emptied = static_cast<uint16_t>(next.emptied | 1 << dim);
  }
  if (ranks > 1) relax(next, Kind::kAllGather, dim, dim, local_ * ranks, ranks);
}

void Search::all_to_alls() {
  for (size_t d = 0; d < num_dims(); ++d) {
    for (size_t to = 0; to < num_dims(); ++to) {
      if (to == d) continue;
      for (size_t first = 0; first < lists_.count[d]; ++first) {
        State next = state_;
        auto shards = lists_.shards;
        auto count = lists_.count;
        int64_t ranks = 1;
        bool legal = true;
        for (size_t i = first; legal && i < lists_.count[d]; ++i) {
          const size_t unit = lists_.units[d][i];
          ranks *= size(unit);
          legal = space_.append(next, shards, count, unit, to);
        }
        if (legal) relax(next, Kind::kAllToAll, d, to, local_, ranks);
      }
    }
  }
}

// Slices and reduce-scatters of one unit, in any dimension: a smaller block makes what follows
// cheaper, whatever the target is.
void Search::appends(uint8_t from_code, Kind kind) {
  for (size_t u = 0; u < num_units(); ++u) {
    if (state_.places[u] != from_code) continue;
    const Unit& unit = problem_.units[u];
    const int useless = kind == Kind::kSlice ? kReplicated : kUnreduced;
    const bool spare = unit.source == kReplicated && unit.target == kReplicated;
    if (unit.target == useless && !spare) continue;
    for (size_t d = 0; d < num_dims(); ++d) {
      if (kind == Kind::kSlice && (state_.emptied >> d & 1)) continue;
      State next = state_;
      auto shards = lists_.shards;
      auto count = lists_.count;
      if (!space_.append(next, shards, count, u, d)) continue;
      relax(next, kind, d, d, local_, kind == Kind::kSlice ? 1 : size(u));
    }
  }
}

// The same for several units that the target has next in a dimension.
void Search::append_runs(uint8_t from_code, Kind kind) {
  for (size_t d = 0; d < num_dims(); ++d) {
    const std::vector<UnitId>& target = problem_.target[d];
    const auto& list = lists_.units[d];
    if (kind == Kind::kSlice && (state_.emptied >> d & 1)) continue;
    if (lists_.count[d] + 1u >= target.size()) continue;
    if (!std::equal(list.begin(), list.begin() + lists_.count[d], target.begin())) continue;
    State next = state_;
    auto shards = lists_.shards;
    auto count = lists_.count;
    int64_t ranks = 1;
    for (size_t i = lists_.count[d]; i < target.size(); ++i) {
      if (state_.places[target[i]] != from_code) break;
      if (!space_.append(next, shards, count, target[i], d)) break;
      ranks *= size(target[i]);
      relax(next, kind, d, d, local_, kind == Kind::kSlice ? 1 : ranks);
    }
  }
}

void Search::all_reduces() {
  std::vector<size_t> pending;
  for (size_t u = 0; u < num_units(); ++u) {
    if (state_.places[u] == kUnreducedCode && problem_.units[u].target != kUnreduced) {
      pending.push_back(u);
    }
  }
  if (pending.empty()) return;
  const size_t all = (size_t{1} << pending.size()) - 1;
  for (size_t subset = limits_.direct ? all : 1; subset <= all; ++subset) {
    // Of many, only single ones and all.
    const bool single = (subset & (subset - 1)) == 0;
    if (pending.size() > 4 && subset != all && !single) continue;
    State next = state_;
    int64_t ranks = 1;
    for (size_t i = 0; i < pending.size(); ++i) {
      if (!(subset >> i & 1)) continue;
      next.places[pending[i]] = kReplicatedCode;
      ranks *= size(pending[i]);
    }
    relax(next, Kind::kAllReduce, 0, 0, local_, ranks);
  }
}

void Search::make_partial() {
  State next = state_;
  for (size_t u = 0; u < num_units(); ++u) {
    if (state_.places[u] == kReplicatedCode && problem_.units[u].target == kUnreduced) {
      next.places[u] = kUnreducedCode;
    }
  }
  if (next != state_) relax(next, Kind::kMakePartial, 0, 0, local_, 1);
}

// Permutes: every arrangement that keeps each dimension's shard count, those that agree with the
// target first. A replicated unit enters only the dimension where it is wanted.
void Search::permutes() {
  if (nodes_[static_cast<size_t>(current_)].kind == Kind::kPermute && current_ != 0) return;
  State state = state_;
  std::vector<bool> used(num_units(), false);
  int budget = kMaxPlacements;
  arrange(0, 1, 0, state, used, budget);
}

void Search::arrange(size_t d, int64_t product, size_t length, State& state,
                     std::vector<bool>& used, int& budget) {
  while (d < num_dims() && product == lists_.shards[d]) {
    ++d;
    product = 1;
    length = 0;
  }
  if (budget <= 0) return;
  if (d == num_dims()) {
    finish_arrangement(state, used);
    if (limits_.direct) budget = 0;
    return;
  }
  const auto attempt = [&](size_t u) {
    const uint8_t code = state_.places[u];
    if (used[u] || code == kUnreducedCode) return;
    if (code == kReplicatedCode && problem_.units[u].target != static_cast<int>(d)) return;
    if (lists_.shards[d] % (product * size(u)) != 0) return;
    if (--budget < 0) return;
    used[u] = true;
    state.places[u] = code_of(static_cast<int>(d), static_cast<int>(length));
    arrange(d, product * size(u), length + 1, state, used, budget);
    used[u] = false;
  };
  const std::vector<UnitId>& target = problem_.target[d];
  const size_t wanted = length < target.size() ? target[length] : num_units();
  if (wanted < num_units()) attempt(wanted);
  for (size_t u = 0; u < num_units(); ++u) {
    if (u != wanted) attempt(u);
  }
}

void Search::finish_arrangement(State& state, const std::vector<bool>& used) {
  State next = state;
  int64_t ranks = 1;
  for (size_t u = 0; u < num_units(); ++u) {
    if (!used[u]) {
      next.places[u] = state_.places[u] == kUnreducedCode ? kUnreducedCode : kReplicatedCode;
    }
    if (next.places[u] != state_.places[u]) ranks *= size(u);
  }
  if (ranks > 1) relax(next, Kind::kPermute, 0, 0, local_, ranks);
}

void Search::expand(int32_t node) {
  current_ = node;
  state_ = nodes_[static_cast<size_t>(node)].state;
  lists_ = space_.decode(state_);
  local_ = space_.local_bytes(lists_);
  if (limits_.direct) return expand_directly();
  append_runs(kReplicatedCode, Kind::kSlice);
  append_runs(kUnreducedCode, Kind::kReduceScatter);
  appends(kReplicatedCode, Kind::kSlice);
  appends(kUnreducedCode, Kind::kReduceScatter);
  for (size_t d = 0; d < num_dims(); ++d) {
    for (size_t i = lists_.count[d]; i-- > 0;) gather_from(d, i);
  }
  all_to_alls();
  all_reduces();
  make_partial();
  permutes();
}

// Units of a dimension that are where the target has them.
size_t Search::wanted_prefix(size_t dim) const {
  const std::vector<UnitId>& target = problem_.target[dim];
  size_t same = 0;
  while (same < std::min<size_t>(target.size(), lists_.count[dim]) &&
         lists_.units[dim][same] == target[same]) {
    ++same;
  }
  return same;
}

// All units at once that the target has in this dimension, if they fit.
void Search::append_all(uint8_t from_code, Kind kind, size_t dim) {
  State next = state_;
  auto shards = lists_.shards;
  auto count = lists_.count;
  int64_t ranks = 1;
  if (kind == Kind::kSlice && (state_.emptied >> dim & 1)) return;
  for (UnitId unit : problem_.target[dim]) {
    if (state_.places[unit] != from_code) continue;
    if (!space_.append(next, shards, count, unit, dim)) return;
    ranks *= size(unit);
  }
  if (ranks > 1) relax(next, kind, dim, dim, local_, kind == Kind::kSlice ? 1 : ranks);
}

void Search::expand_directly() {
  append_runs(kReplicatedCode, Kind::kSlice);
  append_runs(kUnreducedCode, Kind::kReduceScatter);
  for (size_t d = 0; d < num_dims(); ++d) {
    append_all(kReplicatedCode, Kind::kSlice, d);
    append_all(kUnreducedCode, Kind::kReduceScatter, d);
    gather_from(d, wanted_prefix(d));
  }
  all_reduces();
  make_partial();
  permutes();
}

}  // namespace spmd::reshard
