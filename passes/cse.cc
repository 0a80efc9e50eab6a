#include "passes/cse.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "passes/analysis/purity.h"
#include "passes/rewrite/op_equality.h"

namespace spmd {
namespace {

// Ops by their hash, in the order in which they came; the last are taken out first. Open
// addressing: what came before an entry never moves behind it.
class SeenOps {
 public:
  size_t size() const { return entries_.size(); }

  // The first op of this hash that is `equal`, or kNone.
  template <typename Equal>
  OpId find(size_t hash, Equal&& equal) const {
    if (slots_.empty()) return OpId::kNone;
    for (size_t slot = hash & mask(); slots_[slot] != kFree; slot = (slot + 1) & mask()) {
      const Entry& entry = entries_[slots_[slot]];
      if (entry.hash == hash && equal(entry.op)) return entry.op;
    }
    return OpId::kNone;
  }

  void push(size_t hash, OpId op) {
    entries_.push_back({hash, op});
    if (2 * entries_.size() <= slots_.size()) return place(entries_.size() - 1);
    slots_.assign(std::max<size_t>(64, 2 * slots_.size()), kFree);
    for (size_t i = 0; i < entries_.size(); ++i) place(i);
  }

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
    OpId op;
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

class CommonOps {
 public:
  CommonOps(const Module& module, Function& fn) : module_(module), fn_(fn) {}

  bool run() {
    block(fn_.body());
    return changed_;
  }

 private:
  // What the block adds to the ops seen is gone when it ends.
  void block(BlockId id) {
    const size_t before = seen_.size();
    for_each_op(fn_, id, [&](OpId op) { visit(op); });
    seen_.shrink(before);
  }

  void visit(OpId id) {
    regions(id);
    const OpCode code = fn_.op(id).code;
    if (code == OpCode::kReturn || code == OpCode::kOptimizationBarrier ||
        !is_pure(module_, fn_, id)) {
      return;
    }
    const size_t hash = hash_op(fn_, id);
    const OpId same = seen_.find(hash, [&](OpId other) { return equal_ops(fn_, other, id); });
    if (same != OpId::kNone) return merge(same, id);
    seen_.push(hash, id);
  }

  void regions(OpId id) {
    if (fn_.op(id).regions.empty()) return;
    // Isolated regions must not come to use values from outside: they get a table of their own.
    SeenOps outer;
    const bool isolated = has_isolated_regions(fn_.op(id).code);
    if (isolated) std::swap(outer, seen_);
    for (size_t r = 0; r < fn_.op(id).regions.size(); ++r) block(fn_.op(id).regions[r]);
    if (isolated) std::swap(outer, seen_);
  }

  void merge(OpId kept, OpId removed) {
    for (size_t i = 0; i < fn_.op(removed).results.size(); ++i) {
      fn_.replace_all_uses(fn_.op(removed).results[i], fn_.op(kept).results[i]);
    }
    fn_.erase_op(removed);
    changed_ = true;
  }

  const Module& module_;
  Function& fn_;
  SeenOps seen_;
  bool changed_ = false;
};

bool cse(Module& module, PassContext&) {
  bool changed = false;
  for (const auto& fn : module.functions()) changed |= CommonOps(module, *fn).run();
  return changed;
}

}  // namespace

Pass cse_pass() { return {"cse", "merge equal ops", cse}; }

}  // namespace spmd
