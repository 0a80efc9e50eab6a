#include "passes/cse.h"

#include <utility>

#include "passes/analysis/purity.h"
#include "passes/rewrite/op_equality.h"
#include "support/scoped_table.h"

namespace spmd {
namespace {

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
    const OpId* same = seen_.find(hash, [&](OpId other) { return equal_ops(fn_, other, id); });
    if (same != nullptr) return merge(*same, id);
    seen_.push(hash, id);
  }

  void regions(OpId id) {
    if (fn_.op(id).regions.empty()) return;
    // Isolated regions must not come to use values from outside: they get a table of their own.
    ScopedTable<OpId> outer;
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
  ScopedTable<OpId> seen_;
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
