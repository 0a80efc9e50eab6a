// RankPairs: who sends to whom in a collective permute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace spmd {

// A list of (source, target), kept as runs in which both sides take steady steps. So a shift along
// an axis takes the same memory and time on any number of ranks.
class RankPairs {
 public:
  using Pair = std::pair<int64_t, int64_t>;

  // Pair i of a run: (source + i * source_step, target + i * target_step), for 0 <= i < count.
  struct Run {
    int64_t source = 0, target = 0, count = 1;
    int64_t source_step = 1, target_step = 1;

    Pair pair(int64_t i) const { return {source + i * source_step, target + i * target_step}; }
    Pair last() const { return pair(count - 1); }
    // Whether all ranks are between 0 and 2^31; asked of what comes from outside.
    bool is_sound() const;
    bool operator==(const Run&) const = default;
  };

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Pair;
    using difference_type = std::ptrdiff_t;
    using pointer = const Pair*;
    using reference = Pair;

    Iterator(const Run* run, int64_t index) : run_(run), index_(index) {}
    Pair operator*() const { return run_->pair(index_); }
    Iterator& operator++() {
      if (++index_ == run_->count) {
        ++run_;
        index_ = 0;
      }
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Run* run_;
    int64_t index_;
  };

  RankPairs() = default;
  RankPairs(std::initializer_list<Pair> pairs) {
    for (const auto& [source, target] : pairs) emplace_back(source, target);
  }

  void emplace_back(int64_t source, int64_t target);
  // `count` of at least 1.
  void append(const Run& run);

  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::vector<Run>& runs() const { return runs_; }
  Iterator begin() const { return {runs_.data(), 0}; }
  Iterator end() const { return {runs_.data() + runs_.size(), 0}; }

  // Whether every rank sends to itself.
  bool stays_in_place() const;
  // Who sends to a rank, and to whom a rank sends, if anybody. Linear in runs.
  std::optional<int64_t> source_of(int64_t target) const;
  std::optional<int64_t> target_of(int64_t source) const;

  // A rank that is the source, or the target, of two pairs, if there is one. Linear in runs (but
  // for sorting) where they take steps of one.
  std::optional<int64_t> repeated_source() const;
  std::optional<int64_t> repeated_target() const;

  // The same pairs in the same order.
  bool operator==(const RankPairs& other) const;

 private:
  std::vector<Run> runs_;
  int64_t size_ = 0;
};

}  // namespace spmd
