// ScopedTable: what has been seen, by hash, with scopes that end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace spmd {

// Entries in the order in which they came; the last are taken out first. Open addressing: what came
// before an entry never moves behind it. Entries lie side by side, so that those of late, which are
// asked for most, are near each other.
template <typename T>
class ScopedTable {
 public:
  size_t size() const { return entries_.size(); }

  // The first entry of this hash that is `equal`, or null. Valid until the next push().
  template <typename Equal>
  const T* find(size_t hash, Equal&& equal) const {
    if (slots_.empty()) return nullptr;
    for (size_t slot = hash & mask(); slots_[slot] != kFree; slot = (slot + 1) & mask()) {
      const Entry& entry = entries_[slots_[slot]];
      if (entry.hash == hash && equal(entry.value)) return &entry.value;
    }
    return nullptr;
  }

  void push(size_t hash, T value) {
    entries_.push_back({hash, std::move(value)});
    if (2 * entries_.size() <= slots_.size()) return place(entries_.size() - 1);
    slots_.assign(std::max<size_t>(64, 2 * slots_.size()), kFree);
    for (size_t i = 0; i < entries_.size(); ++i) place(i);
  }

  // Takes entries out until `size` are left.
  void shrink(size_t size) {
    for (; entries_.size() > size; entries_.pop_back()) {
      size_t slot = entries_.back().hash & mask();
      while (slots_[slot] != entries_.size() - 1) slot = (slot + 1) & mask();
      slots_[slot] = kFree;
    }
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  struct Entry {
    size_t hash;
    T value;
  };

  size_t mask() const { return slots_.size() - 1; }  // a power of two, less one
  void place(size_t entry) {
    size_t slot = entries_[entry].hash & mask();
    while (slots_[slot] != kFree) slot = (slot + 1) & mask();
    slots_[slot] = static_cast<uint32_t>(entry);
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // indices of entries, at most half of them taken
};

}  // namespace spmd
