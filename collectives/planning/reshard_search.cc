#include "collectives/planning/reshard_search.h"

#include "collectives/planning/reshard_astar.h"

namespace spmd::reshard {

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
