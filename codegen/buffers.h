// Storages: what becomes the plan's buffers, and where the temporary ones lie in the arena.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/literal.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// While steps are emitted and rewritten, the `buffer` of a plan::View is the number of a storage.
struct Storage {
  plan::Buffer::Kind kind = plan::Buffer::ARENA;
  int64_t bytes = 0;
  std::string data;  // of a constant
  // It is written in pieces that do not overlap, so that their order does not matter.
  bool disjoint_writes = false;
};

class StorageTable {
 public:
  int add(plan::Buffer::Kind kind, int64_t bytes);
  // Equal constants share a storage. Of a splat, or with `one_element`, only one element is kept.
  int add_constant(const Literal& literal, bool one_element);

  const Storage& operator[](int id) const { return storages_[static_cast<size_t>(id)]; }
  Storage& operator[](int id) { return storages_[static_cast<size_t>(id)]; }
  int size() const { return static_cast<int>(storages_.size()); }

 private:
  std::vector<Storage> storages_;
  std::unordered_multimap<size_t, int> constants_;  // by hash of their data
};

// A temporary storage in use from step `first` to step `last`, both included.
struct Lifetime {
  int storage = -1;
  int64_t first = 0, last = 0;
  int64_t bytes = 0;
  int64_t offset = 0;
};

// Gives each lifetime an offset, a multiple of 64, so that no two that overlap in time overlap in
// space. Returns the bytes that the arena needs.
int64_t assign_offsets(std::vector<Lifetime>& lifetimes);

}  // namespace spmd::codegen
