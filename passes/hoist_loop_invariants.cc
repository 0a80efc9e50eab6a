#include "passes/hoist_loop_invariants.h"

#include <algorithm>

#include "passes/analysis/purity.h"
#include "passes/rewrite/loop_carries.h"

namespace spmd {
namespace {

// Marks of the values defined inside one loop.
class InsideValues {
 public:
  InsideValues(const Function& fn, const Op& loop) : inside_(fn.num_value_ids(), false) {
    for (BlockId region : loop.regions) add(fn, region);
  }
  bool contains(ValueId value) const { return inside_[index_of(value)]; }
  void remove(const Op& op) {
    for (ValueId result : op.results) inside_[index_of(result)] = false;
  }

 private:
  void add(const Function& fn, BlockId region) {
    for (ValueId arg : fn.block(region).args) inside_[index_of(arg)] = true;
    for_each_op(fn, region, [&](OpId id) {
      for (ValueId result : fn.op(id).results) inside_[index_of(result)] = true;
      for (BlockId nested : fn.op(id).regions) add(fn, nested);
    });
  }
  std::vector<bool> inside_;
};

bool same_annotation(const Function& fn, ValueId a, ValueId b) {
  const ShardingRef &left = fn.value(a).sharding, &right = fn.value(b).sharding;
  return !left || (right && *left == *right);
}

// Replaces unchanged carries by captured values and removes them.
bool capture_invariant_carries(Function& fn, OpId loop) {
  const std::vector<ValueId> inits = fn.op(loop).operands;
  const BlockId cond = fn.op(loop).regions[0], body = fn.op(loop).regions[1];
  const std::vector<ValueId> returned = fn.op(fn.terminator(body)).operands;
  std::vector<bool> remove(inits.size(), false);
  for (size_t i = 0; i < inits.size(); ++i) {
    const ValueId arg = fn.block(body).args[i], cond_arg = fn.block(cond).args[i];
    const ValueId result = fn.op(loop).results[i];
    if (returned[i] != arg && returned[i] != inits[i]) continue;
    if (!same_annotation(fn, arg, inits[i]) || !same_annotation(fn, cond_arg, inits[i]) ||
        !same_annotation(fn, result, inits[i])) {
      continue;
    }
    for (ValueId value : {arg, cond_arg, result}) fn.replace_all_uses(value, inits[i]);
    remove[i] = true;
  }
  if (std::find(remove.begin(), remove.end(), true) == remove.end()) return false;
  detach_carries(fn, loop, remove);
  erase_carries(fn, loop, remove);
  return true;
}

// Ops that cost less to repeat than their result to keep.
bool only_lays_out(OpCode code) {
  return code == OpCode::kConstant || code == OpCode::kIota || code == OpCode::kBroadcastInDim ||
         code == OpCode::kReshape;
}

class Hoister {
 public:
  Hoister(const Module& module, Function& fn, OpId loop)
      : module_(module), fn_(fn), loop_(loop), inside_(fn, fn.op(loop)) {}

  bool run() {
    for (BlockId region : fn_.op(loop_).regions) find_invariant(region);
    // From the last to the first, so that an op knows whether an op that moves needs it.
    std::vector<OpId> moving;
    std::vector<bool> needed(fn_.num_value_ids(), false);
    for (size_t i = invariant_.size(); i-- > 0;) {
      const Op& op = fn_.op(invariant_[i]);
      const bool wanted = std::any_of(op.results.begin(), op.results.end(),
                                      [&](ValueId result) { return needed[index_of(result)]; });
      if (only_lays_out(op.code) && !wanted) continue;
      need_operands(invariant_[i], needed);
      moving.push_back(invariant_[i]);
    }
    for (size_t i = moving.size(); i-- > 0;) fn_.move_op(moving[i], fn_.op(loop_).block, loop_);
    return !moving.empty();
  }

 private:
  void find_invariant(BlockId region) {
    for_each_op(fn_, region, [&](OpId id) {
      if (!depends_on_inside(id) && is_pure(module_, fn_, id)) {
        inside_.remove(fn_.op(id));
        invariant_.push_back(id);
      }
    });
  }

  // Through its operands or what its regions use.
  bool depends_on_inside(OpId id) {
    const Op& op = fn_.op(id);
    for (ValueId operand : op.operands) {
      if (inside_.contains(operand)) return true;
    }
    return std::any_of(op.regions.begin(), op.regions.end(), [&](BlockId region) {
      return captures(region, [&](ValueId value) { return inside_.contains(value); });
    });
  }

  void need_operands(OpId id, std::vector<bool>& needed) {
    const Op& op = fn_.op(id);
    for (ValueId operand : op.operands) needed[index_of(operand)] = true;
    for (BlockId region : op.regions) {
      captures(region, [&](ValueId value) {
        needed[index_of(value)] = true;
        return false;
      });
    }
  }

  // Calls `visit` with the values from outside `region` that its ops use, until it says true.
  template <typename Visit>
  bool captures(BlockId region, Visit visit) {
    std::vector<bool>& own = own_;
    own.resize(fn_.num_value_ids(), false);
    return captures_in(region, visit);
  }

  template <typename Visit>
  bool captures_in(BlockId region, Visit visit) {
    for (ValueId arg : fn_.block(region).args) own_[index_of(arg)] = true;
    for (OpId id = fn_.block(region).first; id != OpId::kNone; id = fn_.op(id).next) {
      const Op& op = fn_.op(id);
      for (ValueId operand : op.operands) {
        if (!own_[index_of(operand)] && visit(operand)) return true;
      }
      for (BlockId nested : op.regions) {
        if (captures_in(nested, visit)) return true;
      }
      for (ValueId result : op.results) own_[index_of(result)] = true;
    }
    return false;
  }

  const Module& module_;
  Function& fn_;
  OpId loop_;
  InsideValues inside_;
  std::vector<bool> own_;  // values defined within a region that is being looked through
  std::vector<OpId> invariant_;
};

// Inner loops first, so that what leaves them can leave the outer ones too.
bool hoist_in(const Module& module, Function& fn, BlockId block) {
  bool changed = false;
  for_each_op(fn, block, [&](OpId id) {
    for (size_t r = 0; r < fn.op(id).regions.size(); ++r) {
      changed |= hoist_in(module, fn, fn.op(id).regions[r]);
    }
    if (fn.op(id).code != OpCode::kWhile) return;
    changed |= capture_invariant_carries(fn, id);
    changed |= Hoister(module, fn, id).run();
  });
  return changed;
}

bool hoist_loop_invariants(Module& module, PassContext&) {
  bool changed = false;
  for (const auto& fn : module.functions()) changed |= hoist_in(module, *fn, fn->body());
  return changed;
}

}  // namespace

Pass hoist_loop_invariants_pass() {
  return {"hoist_loop_invariants", "move what does not change out of loops", hoist_loop_invariants};
}

}  // namespace spmd
