#include "codegen/order_steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/accesses.h"

namespace spmd::codegen {
namespace {

// A step that makes at most this part of what it reads is a reduction.
constexpr int64_t kReduction = 16;

// For a storage, those that coalesce() can make one with it, as long as nobody reads its value once
// theirs has begun: an argument's result, and what is copied to it.
using Successors = std::multimap<int, int>;

Successors with_copies(const plan::Sequence& sequence, const Successors& aliased) {
  Successors successors = aliased;
  for (const plan::Step& step : sequence.steps()) {
    if (!is_copy(step)) continue;
    const plan::Elementwise& map = step.elementwise();
    const int from = map.inputs(0).buffer(), to = map.outputs(0).buffer();
    successors.emplace(to, from);
    for (const auto& [argument, result] : aliased)
      if (result == to) successors.emplace(argument, from);
  }
  return successors;
}

// The steps of one sequence.
class SequenceOrder {
 public:
  SequenceOrder(plan::Sequence& sequence, const StorageTable& storages, const Successors& aliased)
      : sequence_(sequence), storages_(storages), successors_(with_copies(sequence, aliased)) {
    const auto count = static_cast<size_t>(sequence.steps_size());
    steps_.resize(count);
    for (size_t s = 0; s < count; ++s) {
      Step& step = steps_[s];
      plan::Step& source = *sequence.mutable_steps(static_cast<int>(s));
      step.accesses = uses_of(source);
      step.is_movable =
          sequences_of(source).empty() && !source.has_collective() && !is_copy(source);
      for (const auto& [storage, access] : step.accesses) ++left_[storage];
      depend(static_cast<int>(s));
    }
  }

  // Storages that steps elsewhere access too: neither begun nor given back here.
  void keep(const std::set<int>& storages) { kept_ = storages; }

  void run() {
    for (size_t s = 0; s < steps_.size(); ++s) {
      if (!steps_[s].is_done) take(static_cast<int>(s));
      while (!candidates_.empty()) {
        const int next = *candidates_.begin();
        candidates_.erase(candidates_.begin());
        if (pays(next)) take(next);
      }
    }
    reorder();
  }

 private:
  struct Step {
    StepUses accesses;
    std::vector<int> followers;
    int missing = 0;  // predecessors that are not done
    bool is_movable = true, is_done = false;
  };
  // Of one storage, so far in the original order.
  struct Users {
    std::vector<int> writers, readers;  // since the last write that had to wait
  };

  Step& step(int s) { return steps_[static_cast<size_t>(s)]; }

  void edge(int from, int to) {
    if (from == to) return;
    step(from).followers.push_back(to);
    ++step(to).missing;
  }

  void depend(int s) {
    for (const auto& [storage, access] : step(s).accesses) {
      Users& users = users_[storage];
      if (access.writes) {
        const bool in_pieces = storages_[storage].disjoint_writes && !access.reads;
        if (!in_pieces)
          for (int writer : users.writers) edge(writer, s);
        for (int reader : users.readers) edge(reader, s);
        if (!in_pieces) users.writers.clear();
        users.readers.clear();
        users.writers.push_back(s);
      } else {
        for (int writer : users.writers) edge(writer, s);
        users.readers.push_back(s);
      }
      const auto [begin, end] = successors_.equal_range(storage);
      for (auto successor = begin; successor != end && access.reads; ++successor)
        users_[successor->second].readers.push_back(s);
    }
  }

  bool is_temporary(int storage) const {
    return storages_[storage].kind == plan::Buffer::ARENA && kept_.count(storage) == 0;
  }

  bool pays(int s) {
    if (step(s).is_done || !step(s).is_movable || step(s).missing > 0) return false;
    int64_t begun = 0, given_back = 0, read = 0;
    for (const auto& [storage, access] : step(s).accesses) {
      if (!is_temporary(storage)) continue;
      const int64_t bytes = storages_[storage].bytes;
      const bool is_begun = begun_.count(storage) > 0, is_last = left_.at(storage) == 1;
      if (!is_begun && !is_last) begun += bytes;
      if (is_begun && is_last) given_back += bytes;
      if (is_begun && access.reads) read += bytes;
    }
    if (read == 0) return false;
    return (given_back > 0 && given_back >= begun) || begun * kReduction <= read;
  }

  void take(int s) {
    step(s).is_done = true;
    order_.push_back(s);
    for (int follower : step(s).followers) {
      --step(follower).missing;
      consider(follower);
    }
    for (const auto& [storage, access] : step(s).accesses) {
      begun_.insert(storage);
      if (--left_.at(storage) == 1)
        for (int reader : readers_of(storage)) consider(reader);
    }
  }
  void consider(int s) {
    if (!step(s).is_done && step(s).missing == 0 && step(s).is_movable) candidates_.insert(s);
  }

  const std::vector<int>& readers_of(int storage) {
    if (all_users_.empty())
      for (size_t s = 0; s < steps_.size(); ++s)
        for (const auto& [number, access] : steps_[s].accesses)
          all_users_[number].push_back(static_cast<int>(s));
    return all_users_[storage];
  }

  void reorder() {
    if (std::is_sorted(order_.begin(), order_.end())) return;
    plan::Sequence ordered;
    for (int s : order_) ordered.add_steps()->Swap(sequence_.mutable_steps(s));
    sequence_.mutable_steps()->Swap(ordered.mutable_steps());
  }

  plan::Sequence& sequence_;
  const StorageTable& storages_;
  const Successors successors_;
  std::vector<Step> steps_;
  std::set<int> kept_;
  std::map<int, Users> users_;
  std::map<int, std::vector<int>> all_users_;
  std::map<int, int> left_;  // by storage: steps that access it and are not done
  std::set<int> begun_;      // storages
  std::set<int> candidates_;
  std::vector<int> order_;
};

// Storages that a sequence inside of others shares with them.
void order(plan::Sequence& sequence, const StorageTable& storages, const Successors& aliased,
           const std::set<int>& outside) {
  std::map<int, int> users;
  for (plan::Step& step : *sequence.mutable_steps())
    for (const auto& [storage, access] : uses_of(step)) ++users[storage];
  for (int s = 0; s < sequence.steps_size(); ++s) {
    plan::Step& step = *sequence.mutable_steps(s);
    const std::vector<plan::Sequence*> inner = sequences_of(step);
    if (inner.empty()) continue;
    std::set<int> shared = outside;
    for_each_view(step, [&](plan::View& view, bool) { shared.insert(view.buffer()); });
    for (const auto& [storage, count] : users)
      if (count > 1) shared.insert(storage);
    // The sequences of a loop or a branch share storages among themselves.
    std::map<int, int> sequences;
    for (plan::Sequence* part : inner) {
      std::set<int> own;
      for (plan::Step& inside : *part->mutable_steps())
        for (const auto& [storage, access] : uses_of(inside)) own.insert(storage);
      for (int storage : own)
        if (++sequences[storage] > 1) shared.insert(storage);
    }
    for (plan::Sequence* part : inner) order(*part, storages, aliased, shared);
  }
  SequenceOrder steps(sequence, storages, aliased);
  steps.keep(outside);
  steps.run();
}

}  // namespace

void order_steps(plan::Sequence& body, const StorageTable& storages,
                 const std::vector<AliasedPair>& aliased) {
  Successors successors;
  for (const AliasedPair& pair : aliased) successors.emplace(pair.argument, pair.result);
  order(body, storages, successors, {});
}

}  // namespace spmd::codegen
