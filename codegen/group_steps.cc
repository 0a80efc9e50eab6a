#include "codegen/group_steps.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "codegen/accesses.h"
#include "codegen/coalesce.h"
#include "codegen/kernels/emit.h"
#include "codegen/kernels/lower.h"
#include "codegen/step_tree.h"
#include "runtime/plan/dtype.h"

namespace spmd::codegen {
namespace {

// A member's views have at most so many bytes: a launch of more is worth its while.
constexpr int64_t kMostBytes = 1 << 20;
// CUDA has 32,764 bytes for a kernel's arguments, from 12.1 on and from sm_70 on.
constexpr size_t kMostArguments = 4000;
// Where a class's groups do not fit, groups of this part of their members may.
constexpr size_t kSmaller = 4;

bool in_conflict(const StepUses& a, const StepUses& b) {
  if (a.size() > b.size()) return in_conflict(b, a);
  return std::any_of(a.begin(), a.end(), [&](const auto& entry) {
    const auto other = b.find(entry.first);
    return other != b.end() && (entry.second.writes || other->second.writes);
  });
}

void join(StepUses& uses, const StepUses& others) {
  for (const auto& [storage, use] : others) {
    uses[storage].reads |= use.reads;
    uses[storage].writes |= use.writes;
  }
}

int64_t bytes_accessed(plan::Step& step, const StorageTable& storages) {
  int64_t bytes = 0;
  if (step.has_fused()) {
    for (plan::Step& inner : *step.mutable_fused()->mutable_steps())
      bytes += bytes_accessed(inner, storages);
    return bytes;
  }
  for_each_view(step, [&](plan::View& view, bool) {
    if (storages[view.buffer()].kind != plan::Buffer::LOCAL)
      bytes += plan::distinct_elements(step, view) * plan::byte_size(view.dtype());
  });
  return bytes;
}

// What the steps of one sequence access, by step and by storage.
class SequenceUses {
 public:
  SequenceUses() = default;
  explicit SequenceUses(plan::Sequence& sequence) {
    steps_.resize(static_cast<size_t>(sequence.steps_size()));
    for (int s = 0; s < sequence.steps_size(); ++s) {
      StepUses& uses = steps_[static_cast<size_t>(s)];
      uses = uses_of(*sequence.mutable_steps(s));
      for (const auto& [storage, use] : uses) {
        users_[storage].push_back(s);
        if (use.writes) writers_[storage].push_back(s);
      }
    }
  }

  const StepUses& of(int step) const { return steps_[static_cast<size_t>(step)]; }

  // The steps before which a step may run: from the one behind the last that it depends on to the
  // first that depends on it.
  struct Range {
    int first = 0, last = 0;
  };
  Range range_of(int step) const {
    Range range{0, static_cast<int>(steps_.size()) - 1};
    for (const auto& [storage, use] : of(step)) {
      const auto& by_storage = use.writes ? users_ : writers_;
      const auto known = by_storage.find(storage);
      if (known == by_storage.end()) continue;
      const std::vector<int>& others = known->second;
      auto other = std::lower_bound(others.begin(), others.end(), step);
      if (other != others.begin()) range.first = std::max(range.first, *(other - 1) + 1);
      if (other != others.end() && *other == step) ++other;
      if (other != others.end()) range.last = std::min(range.last, *other);
    }
    return range;
  }

 private:
  std::vector<StepUses> steps_;
  std::map<int, std::vector<int>> users_, writers_;  // by storage, in order
};

// Steps that become one, which stands before step `position`.
struct AlikeSteps {
  std::vector<int> members;
  int position = 0;
};

class SequenceGrouper {
 public:
  // `arena_bytes`: what the program needs as it is.
  SequenceGrouper(plan::Sequence& sequence, const StorageTable& storages,
                  std::function<int64_t()> arena_bytes)
      : sequence_(sequence), storages_(storages), arena_bytes_(std::move(arena_bytes)) {}

  void run() {
    find_classes();
    if (num_arguments_.empty()) return;
    uses_ = SequenceUses(sequence_);
    // Readers first: where they have come together far behind, those whose results they read can.
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t number = num_arguments_.size(); number-- > 0;)
        changed = group_class(number) || changed;
    }
  }

 private:
  // The class of a step that stays alone.
  static constexpr int kAlone = -1;

  // ---- which steps are alike

  void find_classes() {
    std::set<int> products;
    for (const plan::Step& step : sequence_.steps())
      if (step.has_dot()) products.insert(step.dot().out().buffer());
    std::map<std::string, int> numbers;
    for (plan::Step& step : *sequence_.mutable_steps()) {
      class_of_.push_back(kAlone);
      if (!may_be_grouped(step, products)) continue;
      const auto kernel =
          kernels::lower(step, [&](int id) { return storages_[id].kind == plan::Buffer::LOCAL; });
      if (!kernel) continue;
      std::string text;
      kernels::cuda_dialect().emit(*kernel, "alike", text);
      const auto [known, is_new] =
          numbers.try_emplace(std::move(text), static_cast<int>(num_arguments_.size()));
      if (is_new) num_arguments_.push_back(static_cast<size_t>(kernel->num_arguments));
      class_of_.back() = known->second;
    }
  }

  // What reads a product alone may become its epilogue (dot_epilogues.h).
  bool may_be_grouped(plan::Step& step, const std::set<int>& products) const {
    if (!step.has_elementwise() && !step.has_reduce() && !step.has_fused()) return false;
    const plan::Elementwise& map = step.elementwise();
    if (map.outputs_size() == 1 &&
        std::any_of(map.inputs().begin(), map.inputs().end(),
                    [&](const plan::View& view) { return products.contains(view.buffer()); }))
      return false;
    return bytes_accessed(step, storages_) <= kMostBytes;
  }

  std::vector<int> members_of(size_t number) const {
    std::vector<int> members;
    for (size_t s = 0; s < class_of_.size(); ++s)
      if (class_of_[s] == static_cast<int>(number)) members.push_back(static_cast<int>(s));
    return members;
  }

  // ---- what becomes one

  // Whether a group has been made.
  bool group_class(size_t number) {
    const std::vector<int> members = members_of(number);
    if (members.size() < 2) return false;
    if (needed_ < 0) needed_ = arena_bytes_();
    const size_t most = kMostArguments / std::max<size_t>(num_arguments_[number], 1);
    for (size_t size = std::min(members.size(), most); size >= 2; size /= kSmaller) {
      const std::vector<AlikeSteps> groups = groups_of(members, size);
      if (groups.empty()) return false;
      const std::vector<std::vector<int>> order = order_with(groups);
      arrange(order);
      if (const int64_t now = arena_bytes_(); now <= needed_) {
        needed_ = now;
        accept(order);
        return true;
      }
      take_back(order);
    }
    return false;
  }

  // Groups of at most `most` members. Those of different groups are independent, too: each group's
  // place is found as if the others were not there.
  std::vector<AlikeSteps> groups_of(const std::vector<int>& members, size_t most) const {
    std::map<int, SequenceUses::Range> ranges;
    for (int m : members) ranges[m] = uses_.range_of(m);
    std::vector<AlikeSteps> groups;
    std::vector<int> open = members;
    StepUses grouped;
    while (!open.empty()) {
      const int least = *std::min_element(
          open.begin(), open.end(), [&](int a, int b) { return ranges[a].last < ranges[b].last; });
      AlikeSteps group{{least}};
      StepUses own = uses_.of(least);
      const bool is_free = !in_conflict(own, grouped);
      std::vector<int> rest;
      for (int m : open) {
        if (m == least) continue;
        const bool fits = is_free && ranges[m].first <= ranges[least].last &&
                          group.members.size() < most && !in_conflict(uses_.of(m), own) &&
                          !in_conflict(uses_.of(m), grouped);
        (fits ? group.members : rest).push_back(m);
        if (fits) join(own, uses_.of(m));
      }
      open = std::move(rest);
      if (group.members.size() < 2) continue;
      std::sort(group.members.begin(), group.members.end());
      join(grouped, own);
      group.position = position_of(group.members, ranges);
      groups.push_back(std::move(group));
    }
    return groups;
  }

  // As early as all can run where that gives back memory, else as late.
  int position_of(const std::vector<int>& members,
                  const std::map<int, SequenceUses::Range>& ranges) const {
    int first = 0, last = sequence_.steps_size() - 1;
    int64_t begun = 0, given_back = 0;
    for (int m : members) {
      first = std::max(first, ranges.at(m).first);
      last = std::min(last, ranges.at(m).last);
      for (const auto& [storage, use] : uses_.of(m)) {
        if (storages_[storage].kind != plan::Buffer::ARENA) continue;
        (use.reads ? given_back : begun) += storages_[storage].bytes;
      }
    }
    return given_back >= begun ? first : last;
  }

  // ---- rewriting

  // The steps in their new order, groups as the list of their members.
  std::vector<std::vector<int>> order_with(const std::vector<AlikeSteps>& groups) const {
    std::vector<bool> is_member(class_of_.size(), false);
    std::multimap<int, const AlikeSteps*> by_position;
    for (const AlikeSteps& group : groups) {
      by_position.emplace(group.position, &group);
      for (int m : group.members) is_member[static_cast<size_t>(m)] = true;
    }
    std::vector<std::vector<int>> order;
    for (size_t s = 0; s < class_of_.size(); ++s) {
      const auto [begin, end] = by_position.equal_range(static_cast<int>(s));
      for (auto group = begin; group != end; ++group) order.push_back(group->second->members);
      if (!is_member[s]) order.push_back({static_cast<int>(s)});
    }
    return order;
  }

  void arrange(const std::vector<std::vector<int>>& order) {
    plan::Sequence arranged;
    for (const std::vector<int>& steps : order) {
      plan::Step& step = *arranged.add_steps();
      if (steps.size() == 1) {
        step.Swap(sequence_.mutable_steps(steps[0]));
        continue;
      }
      step.set_op(sequence_.steps(steps[0]).op());
      for (int s : steps) step.mutable_grouped()->add_steps()->Swap(sequence_.mutable_steps(s));
    }
    sequence_.Swap(&arranged);
  }

  void take_back(const std::vector<std::vector<int>>& order) {
    plan::Sequence as_before;
    for (size_t s = 0; s < class_of_.size(); ++s) as_before.add_steps();
    for (size_t i = 0; i < order.size(); ++i) {
      plan::Step& step = *sequence_.mutable_steps(static_cast<int>(i));
      for (size_t m = 0; m < order[i].size(); ++m)
        as_before.mutable_steps(order[i][m])
            ->Swap(order[i].size() == 1
                       ? &step
                       : step.mutable_grouped()->mutable_steps(static_cast<int>(m)));
    }
    sequence_.Swap(&as_before);
  }

  void accept(const std::vector<std::vector<int>>& order) {
    std::vector<int> classes;
    for (const std::vector<int>& steps : order)
      classes.push_back(steps.size() == 1 ? class_of_[static_cast<size_t>(steps[0])] : kAlone);
    class_of_ = std::move(classes);
    uses_ = SequenceUses(sequence_);
  }

  plan::Sequence& sequence_;
  const StorageTable& storages_;
  const std::function<int64_t()> arena_bytes_;
  int64_t needed_ = -1;                // by the program as it is; not known
  std::vector<size_t> num_arguments_;  // of a class's kernel
  std::vector<int> class_of_;          // by step
  SequenceUses uses_;
};

}  // namespace

void group_steps(plan::Sequence& body, const StorageTable& storages,
                 std::vector<FusionNote>* notes) {
  const auto arena_bytes = [&] {
    std::vector<Lifetime> lives = lifetimes(body, storages);
    return assign_offsets(lives);
  };
  const std::function<void(plan::Sequence&)> visit = [&](plan::Sequence& sequence) {
    for (plan::Step& step : *sequence.mutable_steps())
      for (plan::Sequence* inner : sequences_of(step)) visit(*inner);
    SequenceGrouper(sequence, storages, arena_bytes).run();
  };
  visit(body);
  if (notes == nullptr) return;
  const StepTree tree(body);
  for (int s = 0; s < tree.num_steps(); ++s) {
    const plan::Step& step = *tree[s].step;
    if (!step.has_grouped()) continue;
    FusionNote& note = notes->emplace_back();
    note.place = step.op();
    note.members = step.grouped().steps_size();
  }
}

}  // namespace spmd::codegen
