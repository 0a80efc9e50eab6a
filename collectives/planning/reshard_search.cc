// A* over states (where each unit is). The heuristic is what any plan must still receive: the part
// of the target block that a rank does not hold, on average over ranks, and one latency if that is
// not nothing.
#include "collectives/planning/reshard_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>

#include "support/error.h"

namespace spmd::reshard {

namespace {

using Kind = ReshardStep::Kind;

constexpr size_t kMaxUnits = 16;
constexpr size_t kMaxDims = 14;
constexpr int kMaxPlacements = 1000;  // units placed while permutes from one state are looked for

// Per unit its dimension (high half) and position there (low half), or one of these.
constexpr uint8_t kReplicatedCode = 0xff;
constexpr uint8_t kUnreducedCode = 0xfe;

struct State {
  std::array<uint8_t, kMaxUnits> places{};
  uint16_t emptied = 0;  // dimensions of which everything was gathered, when that is forbidden
  bool operator==(const State&) const = default;
};

uint8_t code_of(int place, int position) {
  if (place == kReplicated) return kReplicatedCode;
  if (place == kUnreduced) return kUnreducedCode;
  return static_cast<uint8_t>(place << 4 | position);
}

// A state taken apart.
struct Lists {
  std::array<std::array<uint8_t, kMaxUnits>, kMaxDims> units;
  std::array<uint8_t, kMaxDims> count{};
  std::array<int64_t, kMaxDims> shards;
};

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
      : problem_(problem), cost_(cost), limits_(limits) {
    slots_.assign(256, -1);
    nodes_.reserve(128);
    for (const Unit& unit : problem.units) {
      all_ranks_ *= static_cast<double>(unit.size);
      if (unit.target >= 0) target_shards_ *= unit.size;
      if (unit.target == kUnreduced) becomes_partial_ = true;
    }
    target_bytes_ = static_cast<double>(problem.bytes / target_shards_);
  }

  std::optional<std::vector<Move>> run();

 private:
  size_t num_units() const { return problem_.units.size(); }
  size_t num_dims() const { return problem_.dims.size(); }
  int64_t size(size_t unit) const { return problem_.units[unit].size; }

  State encode(const Layout& layout, bool source) const;
  Lists decode(const State& state) const;
  int64_t local_bytes(const Lists& lists) const;
  double overlap_in(const Lists& lists, size_t d) const;
  int64_t lower_bound(const State& state) const;
  int64_t picoseconds(CollectiveKind kind, int64_t bytes, int64_t ranks) const {
    return std::llround(cost_.collective_seconds(kind, bytes, ranks) * 1e12);
  }

  int32_t& slot_of(const State& state);
  void grow();
  void relax(const State& next, Kind kind, size_t dim, size_t to_dim, int64_t bytes, int64_t ranks);
  // Appends a unit to a dimension; false when the size does not divide.
  bool append(State& state, std::array<int64_t, kMaxDims>& shards,
              std::array<uint8_t, kMaxDims>& count, size_t unit, size_t dim) const;

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
  const CostModel& cost_;
  const SearchLimits limits_;
  double all_ranks_ = 1;
  int64_t target_shards_ = 1;
  double target_bytes_ = 0;
  bool becomes_partial_ = false;
  State goal_;
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

State Search::encode(const Layout& layout, bool source) const {
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

Lists Search::decode(const State& state) const {
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

int64_t Search::local_bytes(const Lists& lists) const {
  int64_t shards = 1;
  for (size_t d = 0; d < num_dims(); ++d) shards *= lists.shards[d];
  return problem_.bytes / shards;
}

// The part of the target interval that the present one covers in a dimension: on average over
// ranks where the two are independent of each other, else at most.
double Search::overlap_in(const Lists& lists, size_t d) const {
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

int64_t Search::lower_bound(const State& state) const {
  if (state.places == goal_.places) return 0;
  double pending = 1;  // product of the units still to be reduced
  for (size_t u = 0; u < num_units(); ++u) {
    if (state.places[u] == kUnreducedCode && problem_.units[u].target != kUnreduced) {
      pending *= static_cast<double>(size(u));
    }
  }
  double bytes = 0;
  if (becomes_partial_) {
    // Ranks that end with the identity need nothing.
    if (pending == 1) return 0;
  } else if (pending > 1) {
    // Of each element of the result one copy needs all contributions, every other at least itself.
    const double distinct = static_cast<double>(target_shards_) / all_ranks_;
    bytes = target_bytes_ * (distinct * (pending - 1) + (1 - distinct));
  } else {
    const Lists lists = decode(state);
    double product = 1, least = 1;
    for (size_t d = 0; d < num_dims(); ++d) {
      double target = 1;
      for (UnitId unit : problem_.target[d]) target *= static_cast<double>(size(unit));
      product *= std::min(1.0, target / static_cast<double>(lists.shards[d]));
      least = std::min(least, overlap_in(lists, d));
    }
    bytes = target_bytes_ * (1 - std::min(product, least));
    if (std::min(product, least) >= 1) return 0;
  }
  // Steps round their bytes down.
  const double seconds = cost_.latency + std::max(0.0, bytes - 8) / cost_.bandwidth;
  return std::max<int64_t>(0, static_cast<int64_t>(seconds * 1e12) - 1);
}

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
    node.remaining = lower_bound(next);
    index = slot = static_cast<int32_t>(nodes_.size());
    nodes_.push_back(node);
    if (nodes_.size() * 2 > slots_.size()) grow();
  }
  queue_.push({node.picoseconds + node.remaining, node.bytes, node.moves, index});
}

bool Search::append(State& state, std::array<int64_t, kMaxDims>& shards,
                    std::array<uint8_t, kMaxDims>& count, size_t unit, size_t dim) const {
  shards[dim] *= size(unit);
  if (problem_.extents[dim] % shards[dim] != 0) return false;
  state.places[unit] = code_of(static_cast<int>(dim), count[dim]++);
  return true;
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
          legal = append(next, shards, count, unit, to);
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
    const int useless = kind == Kind::kSlice ? kReplicated : kUnreduced;
    if (problem_.units[u].target == useless) continue;
    for (size_t d = 0; d < num_dims(); ++d) {
      if (kind == Kind::kSlice && (state_.emptied >> d & 1)) continue;
      State next = state_;
      auto shards = lists_.shards;
      auto count = lists_.count;
      if (!append(next, shards, count, u, d)) continue;
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
      if (!append(next, shards, count, target[i], d)) break;
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
  lists_ = decode(state_);
  local_ = local_bytes(lists_);
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
    if (!append(next, shards, count, unit, dim)) return;
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
  const Lists lists = decode(node.state);
  for (size_t d = 0; d < num_dims(); ++d) {
    move.layout.emplace_back(lists.units[d].begin(), lists.units[d].begin() + lists.count[d]);
  }
  return move;
}

std::optional<std::vector<Move>> Search::run() {
  if (num_units() > kMaxUnits || num_dims() > kMaxDims) return std::nullopt;
  goal_ = encode(problem_.target, false);
  Node start;
  start.state = encode(problem_.source, true);
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
    if (node.state.places != goal_.places) {
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
