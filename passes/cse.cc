#include "passes/cse.h"

#include <unordered_map>

#include "passes/analysis/purity.h"
#include "passes/rewrite/op_equality.h"

namespace spmd {
namespace {

class CommonOps {
 public:
  CommonOps(const Module& module, Function& fn) : module_(module), fn_(fn) {}

  bool run() {
    std::vector<Entry> added;
    for_each_op(fn_, fn_.body(), [&](OpId op) { visit(op, added); });
    return changed_;
  }

 private:
  using Table = std::unordered_multimap<size_t, OpId>;  // by hash
  using Entry = Table::value_type;

  // What the block adds to the table is gone when it ends.
  void block(BlockId id) {
    std::vector<Entry> added;
    for_each_op(fn_, id, [&](OpId op) { visit(op, added); });
    for (const Entry& entry : added) remove(entry);
  }

  void remove(const Entry& entry) {
    auto found = seen_.find(entry.first);
    while (found->second != entry.second) ++found;
    seen_.erase(found);
  }

  void visit(OpId id, std::vector<Entry>& added) {
    regions(id);
    const OpCode code = fn_.op(id).code;
    if (code == OpCode::kReturn || code == OpCode::kOptimizationBarrier ||
        !is_pure(module_, fn_, id)) {
      return;
    }
    const size_t hash = hash_op(fn_, id);
    const auto [first, last] = seen_.equal_range(hash);
    for (auto candidate = first; candidate != last; ++candidate) {
      if (!equal_ops(fn_, candidate->second, id)) continue;
      return merge(candidate->second, id);
    }
    added.push_back(*seen_.emplace(hash, id));
  }

  void regions(OpId id) {
    if (fn_.op(id).regions.empty()) return;
    // Isolated regions must not come to use values from outside: they get a table of their own.
    Table outer;
    const bool isolated = has_isolated_regions(fn_.op(id).code);
    if (isolated) outer.swap(seen_);
    for (size_t r = 0; r < fn_.op(id).regions.size(); ++r) block(fn_.op(id).regions[r]);
    if (isolated) outer.swap(seen_);
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
  Table seen_;
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
