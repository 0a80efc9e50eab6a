#include "support/rank_pairs.h"

#include <algorithm>

namespace spmd {
namespace {

constexpr int64_t kMost = int64_t{1} << 31;

// A first rank, a step, and a count of ranks.
struct Progression {
  int64_t first, step, count;

  int64_t last() const { return first + (count - 1) * step; }
  int64_t low() const { return std::min(first, last()); }
  int64_t high() const { return std::max(first, last()); }
  std::optional<int64_t> index_of(int64_t rank) const {
    if (count == 1 || step == 0) return rank == first ? std::optional<int64_t>(0) : std::nullopt;
    const int64_t index = (rank - first) / step;
    const bool there = (rank - first) % step == 0 && index >= 0 && index < count;
    return there ? std::optional<int64_t>(index) : std::nullopt;
  }
};

std::optional<int64_t> repeated(const std::vector<Progression>& ranks) {
  std::vector<Progression> dense;  // without gaps
  for (const Progression& run : ranks) {
    if (run.count == 1 || run.step == 1 || run.step == -1) {
      dense.push_back(run);
    } else if (run.step == 0) {
      return run.first;
    } else {
      for (int64_t i = 0; i < run.count; ++i) dense.push_back({run.first + i * run.step, 1, 1});
    }
  }
  std::sort(dense.begin(), dense.end(),
            [](const Progression& a, const Progression& b) { return a.low() < b.low(); });
  for (size_t i = 1; i < dense.size(); ++i) {
    if (dense[i].low() <= dense[i - 1].high()) return dense[i].low();
  }
  return std::nullopt;
}

}  // namespace

bool RankPairs::Run::is_sound() const {
  const auto steady = [&](int64_t first, int64_t step) {
    if (first < 0 || first > kMost || step < -kMost || step > kMost) return false;
    const int64_t last = first + (count - 1) * step;
    return last >= 0 && last <= kMost;
  };
  return count >= 1 && count <= kMost && steady(source, source_step) && steady(target, target_step);
}

void RankPairs::emplace_back(int64_t source, int64_t target) {
  ++size_;
  // What is no rank stays by itself, to be refused where it is checked.
  const auto is_rank = [](int64_t number) { return number >= 0 && number <= kMost; };
  const bool joins = !runs_.empty() && is_rank(source) && is_rank(target) &&
                     is_rank(runs_.back().source) && is_rank(runs_.back().target);
  if (joins) {
    Run& last = runs_.back();
    if (last.count == 1) {
      last.source_step = source - last.source;
      last.target_step = target - last.target;
    }
    if (last.pair(last.count) == Pair{source, target}) {
      ++last.count;
      return;
    }
  }
  runs_.push_back({source, target});
}

void RankPairs::append(const Run& run) {
  size_ += run.count;
  if (!runs_.empty() && run.count > 1) {
    Run& last = runs_.back();
    const bool alike = last.count > 1 && last.source_step == run.source_step &&
                       last.target_step == run.target_step;
    if (alike && last.pair(last.count) == run.pair(0)) {
      last.count += run.count;
      return;
    }
  }
  runs_.push_back(run);
}

bool RankPairs::stays_in_place() const {
  return std::all_of(runs_.begin(), runs_.end(), [](const Run& run) {
    const auto own = [](const Pair& pair) { return pair.first == pair.second; };
    return own(run.pair(0)) && own(run.last());
  });
}

std::optional<int64_t> RankPairs::source_of(int64_t target) const {
  for (const Run& run : runs_) {
    const auto index = Progression{run.target, run.target_step, run.count}.index_of(target);
    if (index) return run.pair(*index).first;
  }
  return std::nullopt;
}

std::optional<int64_t> RankPairs::target_of(int64_t source) const {
  for (const Run& run : runs_) {
    const auto index = Progression{run.source, run.source_step, run.count}.index_of(source);
    if (index) return run.pair(*index).second;
  }
  return std::nullopt;
}

std::optional<int64_t> RankPairs::repeated_source() const {
  std::vector<Progression> sources;
  for (const Run& run : runs_) sources.push_back({run.source, run.source_step, run.count});
  return repeated(sources);
}

std::optional<int64_t> RankPairs::repeated_target() const {
  std::vector<Progression> targets;
  for (const Run& run : runs_) targets.push_back({run.target, run.target_step, run.count});
  return repeated(targets);
}

bool RankPairs::operator==(const RankPairs& other) const {
  if (runs_ == other.runs_) return true;
  return size_ == other.size_ && std::equal(begin(), end(), other.begin());
}

}  // namespace spmd
