#include "codegen/cluster_collectives.h"

#include <algorithm>
#include <climits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/accesses.h"
#include "codegen/combine_collectives.h"

namespace spmd::codegen {
namespace {

using plan::Collective;

// Reductions move towards the end, where they are needed; gathers towards the beginning, where
// their tensors are there. The second is the first with time running backwards: what is written is
// then what a step needs, and what is read what it gives.
enum class Direction { kLater, kEarlier };

bool moves(const Collective& collective, Direction direction) {
  if (direction == Direction::kEarlier) return collective.kind() == Collective::ALL_GATHER;
  return collective.kind() == Collective::ALL_REDUCE ||
         collective.kind() == Collective::REDUCE_SCATTER;
}

// The storages that steps can move across each other by: written by one step, before all reads.
class Orderly {
 public:
  explicit Orderly(plan::Sequence& sequence) {
    for (plan::Step& step : *sequence.mutable_steps())
      for (const auto& [storage, use] : uses_of(step)) {
        if (use.writes && !touched_.insert(storage).second) disorderly_.insert(storage);
        if (use.writes && use.reads) disorderly_.insert(storage);
        touched_.insert(storage);
      }
  }
  bool contains(int storage) const { return disorderly_.count(storage) == 0; }

 private:
  std::set<int> touched_, disorderly_;
};

class Clustering {
 public:
  Clustering(plan::Sequence& sequence, const StorageTable& storages, int64_t byte_limit,
             Direction direction)
      : sequence_(sequence), storages_(storages), byte_limit_(byte_limit), direction_(direction) {
    const int count = sequence.steps_size();
    const Orderly orderly(sequence);
    order_.resize(static_cast<size_t>(count));
    std::iota(order_.begin(), order_.end(), 0);
    if (direction == Direction::kEarlier) std::reverse(order_.begin(), order_.end());
    for (int s : order_) places_.push_back(place_of(*sequence.mutable_steps(s), orderly));
  }

  void run() {
    if (std::none_of(places_.begin(), places_.end(),
                     [](const Place& place) { return !place.signature.empty(); }))
      return;
    find_limits();
    for (int p = 0; p < num_places(); ++p) visit(p);
    while (!open_.empty()) close(open_.begin()->second);
    reorder();
  }

 private:
  // A step, at its place in the direction of time.
  struct Place {
    std::vector<int> needs, gives;  // storages
    bool is_movable = false;        // what lies between small collectives and others
    std::string signature;          // of a small collective that may be joined with others
    int64_t bytes = 0;              // its input
    int limit = INT_MAX;            // the first place that cannot move and needs what this gives
    int64_t key = 0;                // the order to come
  };
  // Those of one signature and limit are joined.
  using Key = std::pair<std::string, int>;
  struct Cluster {
    Key key;
    std::vector<int> members, followers;  // places. Followers need what members or followers give
    int64_t bytes = 0;
    bool is_open = true;
  };

  int num_places() const { return static_cast<int>(places_.size()); }
  Place& place(int p) { return places_[static_cast<size_t>(p)]; }
  Cluster& cluster(int number) { return clusters_[static_cast<size_t>(number)]; }

  bool is_small(int storage) const {
    return storages_[storage].bytes <= kSmallBytes ||
           storages_[storage].kind != plan::Buffer::ARENA;
  }

  Place place_of(plan::Step& step, const Orderly& orderly) const {
    Place place;
    bool is_movable = sequences_of(step).empty();
    for (const auto& [storage, use] : uses_of(step)) {
      if (use.reads) place.needs.push_back(storage);
      if (use.writes) place.gives.push_back(storage);
      is_movable = is_movable && is_small(storage) && orderly.contains(storage);
    }
    if (direction_ == Direction::kEarlier) place.needs.swap(place.gives);
    place.is_movable = is_movable && (step.has_elementwise() || step.has_reduce());
    if (is_movable && step.has_collective() && moves(step.collective(), direction_)) {
      place.signature = signature(step.collective());
      place.bytes = input_bytes(step.collective());
    }
    return place;
  }

  void find_limits() {
    std::unordered_map<int, int> limits;  // by storage
    for (int p = num_places() - 1; p >= 0; --p) {
      Place& here = place(p);
      for (int storage : here.gives)
        if (const auto found = limits.find(storage); found != limits.end())
          here.limit = std::min(here.limit, found->second);
      const int limit = here.is_movable || !here.signature.empty() ? here.limit : p;
      for (int storage : here.needs) {
        const auto [found, is_first] = limits.emplace(storage, limit);
        if (!is_first) found->second = std::min(found->second, limit);
      }
    }
  }

  void visit(int p) {
    Place& here = place(p);
    here.key = 2 * static_cast<int64_t>(p);
    std::set<int> before;  // open clusters that this step has to stay behind
    for (int storage : here.needs)
      if (const auto found = given_by_.find(storage); found != given_by_.end())
        for (int number : found->second)
          if (cluster(number).is_open) before.insert(number);
    const bool follows = here.is_movable && before.size() == 1;
    if (follows) {
      cluster(*before.begin()).followers.push_back(p);
      give(here, *before.begin());
      return;
    }
    for (int number : before) close(number);
    if (!here.signature.empty()) join(p);
  }

  void join(int p) {
    const Key key(place(p).signature, place(p).limit);
    auto found = open_.find(key);
    if (found != open_.end() && cluster(found->second).bytes + place(p).bytes > byte_limit_) {
      close(found->second);
      found = open_.end();
    }
    if (found == open_.end()) {
      found = open_.emplace(key, static_cast<int>(clusters_.size())).first;
      clusters_.push_back({key, {}, {}, 0, true});
    }
    cluster(found->second).members.push_back(p);
    cluster(found->second).bytes += place(p).bytes;
    give(place(p), found->second);
  }

  void give(const Place& from, int number) {
    for (int storage : from.gives) given_by_[storage].push_back(number);
  }

  // All members go to the last one's place, and the followers that were before it behind it. What a
  // closed cluster gives is there at every later place.
  void close(int number) {
    Cluster& closed = cluster(number);
    const int last = closed.members.back();
    for (int member : closed.members) place(member).key = place(last).key;
    for (int follower : closed.followers)
      if (follower < last) place(follower).key = place(last).key + 1;
    closed.is_open = false;
    open_.erase(closed.key);
  }

  void reorder() {
    std::vector<int> places(places_.size());
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(),
                     [&](int a, int b) { return place(a).key < place(b).key; });
    if (std::is_sorted(places.begin(), places.end())) return;
    if (direction_ == Direction::kEarlier) std::reverse(places.begin(), places.end());
    plan::Sequence ordered;
    for (int p : places)
      ordered.add_steps()->Swap(sequence_.mutable_steps(order_[static_cast<size_t>(p)]));
    sequence_.mutable_steps()->Swap(ordered.mutable_steps());
  }

  plan::Sequence& sequence_;
  const StorageTable& storages_;
  int64_t byte_limit_;
  Direction direction_;
  std::vector<int> order_;  // steps, by place
  std::vector<Place> places_;
  std::vector<Cluster> clusters_;
  std::map<Key, int> open_;
  std::unordered_map<int, std::vector<int>> given_by_;  // clusters, by storage
};

}  // namespace

void cluster_collectives(plan::Sequence& body, const StorageTable& storages, int64_t byte_limit) {
  for (plan::Step& step : *body.mutable_steps())
    for (plan::Sequence* inner : sequences_of(step))
      cluster_collectives(*inner, storages, byte_limit);
  Clustering(body, storages, byte_limit, Direction::kLater).run();
  Clustering(body, storages, byte_limit, Direction::kEarlier).run();
}

}  // namespace spmd::codegen
