#include "passes/dce.h"

#include <algorithm>

#include "passes/analysis/purity.h"
#include "passes/rewrite/loop_carries.h"

namespace spmd {
namespace {

// What is needed: a fix point over values. An op is live when one of its results is, or when it has
// a side effect; of ops with regions only the live carries and results count.
class Liveness {
 public:
  Liveness(const Module& module, const Function& fn)
      : fn_(fn), value_(fn.num_value_ids(), false), op_(fn.num_op_ids(), false) {
    mark_op(fn.terminator(fn.body()));
    walk(fn, [&](OpId id) {
      const Op& op = fn.op(id);
      if (op.code != OpCode::kReturn && !is_pure(module, fn, id)) mark_with_parents(id);
    });
    while (!work_.empty()) {
      const ValueId value = work_.back();
      work_.pop_back();
      propagate(value);
    }
  }

  bool is_live(ValueId value) const { return value_[index_of(value)]; }
  bool is_live(OpId op) const { return op_[index_of(op)]; }
  std::vector<bool> dead(const std::vector<ValueId>& values) const {
    std::vector<bool> marks;
    for (ValueId value : values) marks.push_back(!is_live(value));
    return marks;
  }

 private:
  void mark(ValueId value) {
    if (value_[index_of(value)]) return;
    value_[index_of(value)] = true;
    work_.push_back(value);
  }

  void mark_with_parents(OpId id) {
    for (OpId at = id; at != OpId::kNone; at = fn_.parent_op(at)) {
      if (at != id && is_live(at)) return;
      mark_op(at);
    }
  }

  // What the op needs whichever of its results is used.
  void mark_op(OpId id) {
    if (op_[index_of(id)]) return;
    op_[index_of(id)] = true;
    const Op& op = fn_.op(id);
    switch (op.code) {
      case OpCode::kWhile:
        mark_op(fn_.terminator(op.regions[0]));
        return;
      case OpCode::kIf:
      case OpCode::kCase:
        mark(op.operands[0]);
        return;
      case OpCode::kManualComputation:
      case OpCode::kOptimizationBarrier:
        return;
      default:
        break;
    }
    for (ValueId operand : op.operands) mark(operand);
    // Reducers and comparators are kept whole.
    for (BlockId region : op.regions) {
      walk(fn_, region, [&](OpId inner) { mark_whole(inner); });
    }
  }

  void mark_whole(OpId id) {
    op_[index_of(id)] = true;
    for (ValueId operand : fn_.op(id).operands) mark(operand);
    for (ValueId result : fn_.op(id).results) mark(result);
  }

  void propagate(ValueId value) {
    const Value& v = fn_.value(value);
    if (v.def != OpId::kNone) {
      mark_op(v.def);
      mark_sources_of_result(v.def, v.index);
    } else if (const OpId parent = fn_.block(v.block).parent; parent != OpId::kNone) {
      if (fn_.op(parent).code == OpCode::kWhile) mark_carry(parent, v.index);
      if (fn_.op(parent).code == OpCode::kManualComputation) mark(fn_.op(parent).operands[v.index]);
      mark_with_parents(parent);
    }
  }

  void mark_sources_of_result(OpId id, uint32_t index) {
    const Op& op = fn_.op(id);
    switch (op.code) {
      case OpCode::kWhile:
        mark_carry(id, index);
        return;
      case OpCode::kOptimizationBarrier:
        mark(op.operands[index]);
        return;
      case OpCode::kIf:
      case OpCode::kCase:
      case OpCode::kManualComputation:
        for (BlockId region : op.regions) mark(fn_.op(fn_.terminator(region)).operands[index]);
        return;
      default:
        return;
    }
  }

  // A carry is live as a whole: where it enters, in both regions, and where it leaves.
  void mark_carry(OpId loop, uint32_t index) {
    const Op& op = fn_.op(loop);
    mark(op.results[index]);
    mark(op.operands[index]);
    mark(fn_.op(fn_.terminator(op.regions[1])).operands[index]);
    for (BlockId region : op.regions) mark(fn_.block(region).args[index]);
  }

  const Function& fn_;
  std::vector<bool> value_, op_;
  std::vector<ValueId> work_;
};

class Sweeper {
 public:
  Sweeper(Function& fn, const Liveness& live) : fn_(fn), live_(live) {}

  bool run() {
    sweep(fn_.body());
    return changed_;
  }

 private:
  // Backwards: users go before what they use.
  void sweep(BlockId block) {
    for (OpId id = fn_.block(block).last; id != OpId::kNone;) {
      const OpId previous = fn_.op(id).prev;
      if (fn_.op(id).code == OpCode::kReturn || live_.is_live(id)) {
        shrink(id);
      } else {
        fn_.erase_op(id);
        changed_ = true;
      }
      id = previous;
    }
  }

  void shrink(OpId id) {
    const Op& op = fn_.op(id);
    if (op.regions.empty() && op.code != OpCode::kOptimizationBarrier) return;
    const std::vector<bool> dead = live_.dead(fn_.op(id).results);
    const bool any = std::find(dead.begin(), dead.end(), true) != dead.end();
    switch (fn_.op(id).code) {
      case OpCode::kWhile:
        if (any) detach_carries(fn_, id, dead);
        sweep_regions(id);
        if (any) erase_carries(fn_, id, dead);
        break;
      case OpCode::kIf:
      case OpCode::kCase:
      case OpCode::kManualComputation:
        if (any) drop_region_results(id, dead);
        sweep_regions(id);
        if (any) erase_results(fn_, id, dead);
        if (fn_.op(id).code == OpCode::kManualComputation) shrink_arguments(id);
        break;
      case OpCode::kOptimizationBarrier:
        if (!any) return;
        fn_.set_operands(id, without(fn_.op(id).operands, dead));
        erase_results(fn_, id, dead);
        break;
      default:
        return;
    }
    changed_ |= any;
  }

  void sweep_regions(OpId id) {
    for (size_t r = 0; r < fn_.op(id).regions.size(); ++r) sweep(fn_.op(id).regions[r]);
  }

  void drop_region_results(OpId id, const std::vector<bool>& dead) {
    for (BlockId region : fn_.op(id).regions) {
      const OpId last = fn_.terminator(region);
      fn_.set_operands(last, without(fn_.op(last).operands, dead));
    }
    if (fn_.op(id).code != OpCode::kManualComputation) return;
    drop_shardings(fn_.op(id).as<ManualComputationAttrs>().out_shardings, dead);
  }

  void shrink_arguments(OpId id) {
    const BlockId region = fn_.op(id).regions[0];
    const std::vector<bool> dead = live_.dead(fn_.block(region).args);
    if (std::find(dead.begin(), dead.end(), true) == dead.end()) return;
    fn_.set_operands(id, without(fn_.op(id).operands, dead));
    erase_arguments(fn_, region, dead);
    drop_shardings(fn_.op(id).as<ManualComputationAttrs>().in_shardings, dead);
    changed_ = true;
  }

  static void drop_shardings(std::vector<Sharding>& shardings, const std::vector<bool>& dead) {
    std::vector<Sharding> kept;
    for (size_t i = 0; i < shardings.size(); ++i) {
      if (!dead[i]) kept.push_back(std::move(shardings[i]));
    }
    shardings = std::move(kept);
  }

  Function& fn_;
  const Liveness& live_;
  bool changed_ = false;
};

bool dce(Module& module, PassContext&) {
  const size_t functions = module.functions().size();
  module.drop_unreachable_functions();
  bool changed = module.functions().size() != functions;
  for (const auto& fn : module.functions()) {
    const Liveness live(module, *fn);
    changed |= Sweeper(*fn, live).run();
  }
  return changed;
}

}  // namespace

Pass dce_pass() { return {"dce", "remove what no result needs", dce}; }

}  // namespace spmd
