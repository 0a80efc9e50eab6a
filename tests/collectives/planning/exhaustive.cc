#include "tests/collectives/planning/exhaustive.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace spmd::testing {

namespace {

// Per dimension the atoms in order; then the unreduced ones, sorted; then, in a class of states
// that a permute makes one, the marker. In a class the lists are replaced by shard counts.
struct State {
  std::vector<std::vector<int>> dims;
  std::set<int> unreduced;
  bool permuted = false;
  std::set<size_t> emptied;  // dimensions that must not be sliced
  auto operator<=>(const State&) const = default;
};

class Exhaustive {
 public:
  Exhaustive(const std::vector<int64_t>& shape, int64_t element_bytes, const Mesh& mesh,
             const CostModel& cost, Constraint constraint)
      : shape_(shape), mesh_(mesh), cost_(cost), constraint_(constraint), bytes_(element_bytes) {
    for (int64_t extent : shape) bytes_ *= extent;
  }

  State state_of(const Sharding& sharding) {
    State state;
    for (const DimSharding& dim : sharding.dims) state.dims.push_back(ids(dim.axes));
    for (int id : ids(sharding.unreduced)) state.unreduced.insert(id);
    return state;
  }

  void use_all_axes() { ids(whole_mesh()); }

  // Ends at `target`, or when everything is known.
  double run(const State& source, const State* target) {
    if (target != nullptr) target_unreduced_ = target->unreduced;
    improve(source, 0);
    while (!queue_.empty()) {
      const auto [seconds, state] = *queue_.begin();
      queue_.erase(queue_.begin());
      if (seconds > best_.at(state)) continue;
      if (target != nullptr && is_at(state, *target)) return seconds;
      if (state.permuted) {
        State arranged{std::vector<std::vector<int>>(shape_.size()), state.unreduced, false,
                       state.emptied};
        std::set<int> used = state.unreduced;
        arrange(state, 0, arranged, used, seconds);
      } else {
        expand(state, seconds);
      }
    }
    return std::numeric_limits<double>::infinity();
  }

  // Of each state without its history, after run() without a target.
  std::map<State, double> least() const {
    std::map<State, double> seconds;
    for (const auto& [state, cost] : best_) {
      if (state.permuted) continue;
      const auto [it, added] = seconds.emplace(State{state.dims, state.unreduced, false, {}}, cost);
      if (!added) it->second = std::min(it->second, cost);
    }
    return seconds;
  }

 private:
  std::vector<int> ids(const AxisList& axes) {
    std::vector<int> result;
    for (const AxisRef& atom : to_atoms(axes, mesh_)) {
      if (atom.size_in(mesh_) == 1) continue;
      auto it = std::find(atoms_.begin(), atoms_.end(), atom);
      result.push_back(static_cast<int>(it - atoms_.begin()));
      if (it == atoms_.end()) atoms_.push_back(atom);
    }
    return result;
  }

  int64_t size(int atom) const { return atoms_[static_cast<size_t>(atom)].size_in(mesh_); }

  int64_t shards(const std::vector<int>& list) const {
    int64_t count = 1;
    for (int atom : list) count *= size(atom);
    return count;
  }

  void improve(const State& state, double seconds) {
    for (size_t d = 0; d < shape_.size() && !state.permuted; ++d) {
      if (shape_[d] % shards(state.dims[d]) != 0) return;
    }
    if (constraint_.below_full_size && is_whole(state)) return;
    const auto [it, added] = best_.emplace(state, seconds);
    if (!added && it->second <= seconds) return;
    it->second = seconds;
    queue_.emplace(seconds, state);
  }

  bool is_whole(const State& state) const {
    int64_t count = 1;
    for (const auto& list : state.dims) count *= state.permuted ? list[0] : shards(list);
    return count == 1;
  }

  static bool is_at(const State& state, const State& target) {
    return state.dims == target.dims && state.unreduced == target.unreduced && !state.permuted;
  }

  AxisList whole_mesh() const {
    AxisList axes;
    for (int axis = 0; axis < static_cast<int>(mesh_.num_axes()); ++axis)
      axes.push_back({axis, 1, 0});
    return axes;
  }

  void expand(const State& state, double seconds) {
    int64_t local = bytes_;
    for (const auto& list : state.dims) local /= shards(list);
    const auto go = [&](const State& next, CollectiveKind kind, int64_t bytes, int64_t n) {
      improve(next, seconds + cost_.collective_seconds(kind, bytes, n));
    };
    for (size_t d = 0; d < shape_.size(); ++d) {
      State next = state;
      std::vector<int> suffix;
      while (!next.dims[d].empty()) {
        suffix.insert(suffix.begin(), next.dims[d].back());
        next.dims[d].pop_back();
        const int64_t n = shards(suffix);
        State gathered = next;
        if (constraint_.avoid_rematerialization && next.dims[d].empty()) gathered.emptied.insert(d);
        go(gathered, CollectiveKind::kAllGather, local * n, n);
        for (size_t to = 0; to < shape_.size(); ++to) {
          State moved = next;
          moved.dims[to].insert(moved.dims[to].end(), suffix.begin(), suffix.end());
          if (to != d) go(moved, CollectiveKind::kAllToAll, local, n);
        }
      }
      scatter(state, d, local, 1, seconds, state);
    }
    reduce(state, state.unreduced.begin(), local, 1, seconds, state);
    add_atoms(state, seconds);
    State permuted = state;
    permuted.permuted = true;
    for (auto& list : permuted.dims) list = {static_cast<int>(shards(list))};
    go(permuted, CollectiveKind::kPermute, local, 2);
  }

  void scatter(const State& next, size_t d, int64_t local, int64_t n, double seconds,
               const State& state) {
    for (int atom : next.unreduced) {
      if (target_unreduced_.count(atom)) continue;
      State more = next;
      more.unreduced.erase(atom);
      more.dims[d].push_back(atom);
      const int64_t ranks = n * size(atom);
      improve(more,
              seconds + cost_.collective_seconds(CollectiveKind::kReduceScatter, local, ranks));
      scatter(more, d, local, ranks, seconds, state);
    }
  }

  void reduce(const State& next, std::set<int>::const_iterator it, int64_t local, int64_t n,
              double seconds, const State& state) {
    for (; it != state.unreduced.end(); ++it) {
      if (target_unreduced_.count(*it)) continue;
      State more = next;
      more.unreduced.erase(*it);
      const int64_t ranks = n * size(*it);
      improve(more, seconds + cost_.collective_seconds(CollectiveKind::kAllReduce, local, ranks));
      reduce(more, std::next(it), local, ranks, seconds, state);
    }
  }

  // Slices and making partial.
  void add_atoms(const State& state, double seconds) {
    for (int atom = 0; atom < static_cast<int>(atoms_.size()); ++atom) {
      bool used = state.unreduced.count(atom) != 0;
      for (const auto& list : state.dims) {
        used = used || std::find(list.begin(), list.end(), atom) != list.end();
      }
      if (used) continue;
      for (size_t d = 0; d < shape_.size(); ++d) {
        State next = state;
        if (state.emptied.count(d)) continue;
        next.dims[d].push_back(atom);
        improve(next, seconds);
      }
      if (!target_unreduced_.count(atom)) continue;
      State next = state;
      next.unreduced.insert(atom);
      improve(next, seconds);
    }
  }

  void arrange(const State& counts, size_t d, State& state, std::set<int>& used, double seconds) {
    if (d == shape_.size()) return improve(state, seconds);
    if (shards(state.dims[d]) == counts.dims[d][0]) arrange(counts, d + 1, state, used, seconds);
    for (int atom = 0; atom < static_cast<int>(atoms_.size()); ++atom) {
      if (used.count(atom) || counts.dims[d][0] % (shards(state.dims[d]) * size(atom)) != 0) {
        continue;
      }
      used.insert(atom);
      state.dims[d].push_back(atom);
      arrange(counts, d, state, used, seconds);
      state.dims[d].pop_back();
      used.erase(atom);
    }
  }

  const std::vector<int64_t>& shape_;
  const Mesh& mesh_;
  const CostModel& cost_;
  const Constraint constraint_;
  int64_t bytes_;
  AxisList atoms_;
  std::set<int> target_unreduced_;
  std::map<State, double> best_;
  std::set<std::pair<double, State>> queue_;
};

}  // namespace

double least_seconds(const std::vector<int64_t>& shape, int64_t element_bytes, const Sharding& from,
                     const Sharding& to, const Mesh& mesh, const CostModel& cost,
                     Constraint constraint) {
  Exhaustive search(shape, element_bytes, mesh, cost, constraint);
  const State source = search.state_of(from);
  const State target = search.state_of(to);
  return search.run(source, &target);
}

std::vector<double> least_seconds_to_each(const std::vector<int64_t>& shape, int64_t element_bytes,
                                          const Sharding& from,
                                          const std::vector<Sharding>& targets, const Mesh& mesh,
                                          const CostModel& cost, Constraint constraint) {
  Exhaustive search(shape, element_bytes, mesh, cost, constraint);
  search.use_all_axes();
  search.run(search.state_of(from), nullptr);
  const std::map<State, double> least = search.least();
  std::vector<double> seconds;
  for (const Sharding& target : targets) {
    const auto found = least.find(search.state_of(target));
    seconds.push_back(found == least.end() ? std::numeric_limits<double>::infinity()
                                           : found->second);
  }
  return seconds;
}

}  // namespace spmd::testing
