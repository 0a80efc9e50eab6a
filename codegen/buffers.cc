#include "codegen/buffers.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <queue>
#include <set>
#include <string_view>

namespace spmd::codegen {
namespace {

constexpr int64_t kAlignment = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Free stretches of the arena, which grows when none fits.
class FreeList {
 public:
  // The smallest stretch that fits, the lowest of equals.
  int64_t take(int64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, -1});
    if (fit != by_size_.end()) {
      const auto [size, offset] = *fit;
      erase(offset, size);
      if (size > bytes) insert(offset + bytes, size - bytes);
      return offset;
    }
    // Grows by what the stretch at the end lacks.
    int64_t offset = end_;
    if (!by_offset_.empty()) {
      const auto [start, size] = *by_offset_.rbegin();
      if (start + size == end_) {
        offset = start;
        erase(start, size);
      }
    }
    end_ = offset + bytes;
    return offset;
  }

  void give(int64_t offset, int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      erase(next->first, next->second);
      next = by_offset_.lower_bound(offset);
    }
    if (next != by_offset_.begin()) {
      const auto [start, size] = *std::prev(next);
      if (start + size == offset) {
        erase(start, size);
        offset = start;
        bytes += size;
      }
    }
    insert(offset, bytes);
  }

  int64_t end() const { return end_; }

 private:
  void insert(int64_t offset, int64_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  void erase(int64_t offset, int64_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }

  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t end_ = 0;
};

}  // namespace

int StorageTable::add(plan::Buffer::Kind kind, int64_t bytes) {
  storages_.push_back({kind, bytes, {}, false});
  return size() - 1;
}

int StorageTable::add_constant(const Literal& literal, bool one_element) {
  const auto element = static_cast<size_t>(byte_size(literal.type().dtype));
  const size_t kept = one_element ? element : literal.stored_bytes();
  const std::string_view data(reinterpret_cast<const char*>(literal.data()), kept);
  const int64_t bytes = one_element ? static_cast<int64_t>(element) : literal.type().num_bytes();
  const size_t hash = std::hash<std::string_view>()(data);
  const auto [begin, end] = constants_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Storage& known = (*this)[it->second];
    if (known.bytes == bytes && known.data == data) return it->second;
  }
  const int id = add(plan::Buffer::CONSTANT, bytes);
  (*this)[id].data = data;
  constants_.emplace(hash, id);
  return id;
}

int64_t assign_offsets(std::vector<Lifetime>& lifetimes) {
  std::vector<Lifetime*> order;
  for (Lifetime& lifetime : lifetimes)
    if (lifetime.bytes > 0) order.push_back(&lifetime);
  // Of those that begin together the large ones choose first.
  std::stable_sort(order.begin(), order.end(), [](const Lifetime* a, const Lifetime* b) {
    return a->first != b->first ? a->first < b->first : a->bytes > b->bytes;
  });
  FreeList free;
  const auto later = [](const Lifetime* a, const Lifetime* b) {
    return a->last != b->last ? a->last > b->last : a->offset > b->offset;
  };
  std::priority_queue<Lifetime*, std::vector<Lifetime*>, decltype(later)> live(later);
  for (Lifetime* lifetime : order) {
    for (; !live.empty() && live.top()->last < lifetime->first; live.pop())
      free.give(live.top()->offset, aligned(live.top()->bytes));
    lifetime->offset = free.take(aligned(lifetime->bytes));
    live.push(lifetime);
  }
  return free.end();
}

}  // namespace spmd::codegen
