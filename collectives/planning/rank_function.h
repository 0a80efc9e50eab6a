// RankFunction: a number for each rank of an axis.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace spmd {

// A partial function from ranks to whole numbers, kept as runs of ranks in which it is linear: what
// ranks have in common takes the same memory and time on any number of them.
class RankFunction {
 public:
  // value + slope * (rank - first), for first <= rank < first + count.
  struct Run {
    int64_t first = 0, count = 1, value = 0, slope = 0;

    int64_t end() const { return first + count; }
    int64_t at(int64_t rank) const { return value + slope * (rank - first); }
    int64_t last_value() const { return at(end() - 1); }
    bool operator==(const Run&) const = default;
  };

  RankFunction() = default;
  // In any order; no rank is in two of them.
  explicit RankFunction(std::vector<Run> runs);
  static RankFunction constant(int64_t ranks, int64_t value) { return linear(ranks, value, 0); }
  static RankFunction linear(int64_t ranks, int64_t value, int64_t slope) {
    return RankFunction({{0, ranks, value, slope}});
  }

  // f(0), f(1), ... With `bends`, f is linear between each two of them (and from the first rank,
  // and to the last), so that few values tell all; without, every rank is asked.
  template <typename F>
  static RankFunction of(int64_t ranks, const std::optional<std::vector<int64_t>>& bends, F&& f) {
    std::vector<Run> runs;
    int64_t next = 0;
    const auto up_to = [&](int64_t end) {
      end = std::min(end, ranks);
      if (next >= end) return;
      const int64_t value = f(next), count = end - next;
      runs.push_back({next, count, value, count > 1 ? f(next + 1) - value : 0});
      next = end;
    };
    if (bends) {
      for (int64_t bend : *bends) up_to(bend);
      up_to(ranks);
    }
    while (next < ranks) up_to(next + 1);
    return RankFunction(std::move(runs));
  }

  // In ascending order of ranks.
  const std::vector<Run>& runs() const { return runs_; }
  bool empty() const { return runs_.empty(); }
  // Logarithmic in runs.
  const Run* run_at(int64_t rank) const;
  std::optional<int64_t> at(int64_t rank) const;
  bool any_in(int64_t first, int64_t count) const;

  // Of the values; not of the empty function.
  int64_t min() const;
  int64_t max() const;
  // The value that all ranks have which have one; nullopt when values differ or there are none.
  std::optional<int64_t> uniform() const;

  // scale * value + offset.
  RankFunction mapped(int64_t scale, int64_t offset) const;
  // On ranks [0, ranks): `value` where there is none.
  RankFunction filled(int64_t ranks, int64_t value) const;

  bool operator==(const RankFunction&) const = default;

 private:
  std::vector<Run> runs_;
};

}  // namespace spmd
