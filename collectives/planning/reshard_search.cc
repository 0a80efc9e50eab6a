// A* over the states of a problem.
#include "collectives/planning/reshard_search.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

#include "collectives/planning/reshard_state.h"

namespace spmd::reshard {

namespace {

using Kind = ReshardStep::Kind;

constexpr int kMaxPlacements = 1000;  // units placed while permutes from one state are looked for

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

int32_t& Search::slot_of(const State& state) {
  uint64_t hash = state.emptied;
  for (size_t u = 0; u < num_units(); ++u) {
    hash = (hash ^ state.places[u]) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  size_t i = hash & (slots_.size() - 1);
  while (slots_[i] >= 0 && nodes_[static_cast<size_t>(slots_[i])].state != state) {
    i = (i + 1) & (slots_.size() - 1);
  }
  return slots_[i];
}

void Search::grow() {
  slots_.assign(slots_.size() * 4, -1);
  for (size_t i = 0; i < nodes_.size(); ++i) slot_of(nodes_[i].state) = static_cast<int32_t>(i);
}

// A way from the current state to `next`: a collective of `ranks` over `bytes`, or a local step
// when `ranks` is 1.
void Search::relax(const State& next, Kind kind, size_t dim, size_t to_dim, int64_t bytes,
                   int64_t ranks) {
  static constexpr CollectiveKind kCollectives[] = {
      CollectiveKind::kAllGather,     CollectiveKind::kAllGather,  // the second: a slice, ranks 1
      CollectiveKind::kAllToAll,      CollectiveKind::kPermute,   CollectiveKind::kAllReduce,
      CollectiveKind::kReduceScatter, CollectiveKind::kAllGather};
  if (limits_.below_full_size && is_whole(next)) return;
  const CollectiveKind collective = kCollectives[static_cast<size_t>(kind)];
  ++ways_;
  const Node& parent = nodes_[static_cast<size_t>(current_)];
  Node node;
  node.state = next;
  node.picoseconds = parent.picoseconds + picoseconds(collective, bytes, ranks);
  node.bytes = parent.bytes + (ranks > 1 ? bytes_sent(collective, bytes, ranks) : 0);
  node.moves = parent.moves + 1;
  node.parent = current_;
  node.kind = kind;
  node.dim = static_cast<uint8_t>(dim);
  node.to_dim = static_cast<uint8_t>(to_dim);

  int32_t& slot = slot_of(next);
  int32_t index = slot;
  if (index >= 0) {
    Node& known = nodes_[static_cast<size_t>(index)];
    if (std::tie(known.picoseconds, known.moves, known.bytes) <=
        std::tie(node.picoseconds, node.moves, node.bytes)) {
      return;
    }
    node.remaining = known.remaining;
    known = node;
  } else {
    node.remaining = space_.lower_bound(next);
    index = slot = static_cast<int32_t>(nodes_.size());
    nodes_.push_back(node);
    if (nodes_.size() * 2 > slots_.size()) grow();
  }
  queue_.push({node.picoseconds + node.remaining, node.bytes, node.moves, index});
}

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

Move Search::move_to(const Node& node) const {
  const State& before = nodes_[static_cast<size_t>(node.parent)].state;
  Move move{node.kind, node.dim, node.to_dim, {}, {}};
  for (size_t u = 0; u < num_units(); ++u) {
    if (before.places[u] != node.state.places[u]) move.units.push_back(static_cast<UnitId>(u));
  }
  const bool gathers = node.kind == Kind::kAllGather;
  const auto& order = gathers ? before.places : node.state.places;
  std::stable_sort(move.units.begin(), move.units.end(),
                   [&](UnitId a, UnitId b) { return order[a] < order[b]; });
  if (node.kind != Kind::kPermute) return move;
  const Lists lists = space_.decode(node.state);
  for (size_t d = 0; d < num_dims(); ++d) {
    move.layout.emplace_back(lists.units[d].begin(), lists.units[d].begin() + lists.count[d]);
  }
  return move;
}

std::optional<std::vector<Move>> Search::run() {
  Node start;
  start.state = space_.source();
  slot_of(start.state) = 0;
  nodes_.push_back(start);
  queue_.push({0, 0, 0, 0});
  while (!queue_.empty() && ways_ < limits_.max_ways) {
    const Entry entry = queue_.top();
    queue_.pop();
    Node& node = nodes_[static_cast<size_t>(entry.node)];
    const bool stale = entry.estimate != node.picoseconds + node.remaining ||
                       entry.moves != node.moves || entry.bytes != node.bytes;
    if (stale) continue;
    if (node.state.places != space_.target().places) {
      expand(entry.node);
      continue;
    }
    std::vector<Move> moves;
    for (int32_t i = entry.node; i != 0; i = nodes_[static_cast<size_t>(i)].parent) {
      moves.push_back(move_to(nodes_[static_cast<size_t>(i)]));
    }
    std::reverse(moves.begin(), moves.end());
    return moves;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<Move>> cheapest_moves(const Problem& problem, const CostModel& cost,
                                                const SearchLimits& limits) {
  if (problem.units.size() > kMaxUnits || problem.dims.size() > kMaxDims) return std::nullopt;
  return Search(problem, cost, limits).run();
}

std::vector<Move> plain_moves(const Problem& problem) {
  std::vector<Move> moves;
  Move reduce{Kind::kAllReduce, 0, 0, {}, {}};
  Move partial{Kind::kMakePartial, 0, 0, {}, {}};
  for (size_t u = 0; u < problem.units.size(); ++u) {
    const Unit& unit = problem.units[u];
    if (unit.source == kUnreduced) reduce.units.push_back(static_cast<UnitId>(u));
    if (unit.target == kUnreduced) partial.units.push_back(static_cast<UnitId>(u));
  }
  const auto add_all = [&](Kind kind, const Layout& layout) {
    for (size_t d = 0; d < layout.size(); ++d) {
      const int dim = static_cast<int>(d);
      if (!layout[d].empty()) moves.push_back({kind, dim, dim, layout[d], {}});
    }
  };
  if (!reduce.units.empty()) moves.push_back(reduce);
  add_all(Kind::kAllGather, problem.source);
  add_all(Kind::kSlice, problem.target);
  if (!partial.units.empty()) moves.push_back(partial);
  return moves;
}

}  // namespace spmd::reshard
