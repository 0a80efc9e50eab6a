#include "passes/chain_reshards.h"

#include "passes/partition/reshards.h"

namespace spmd {
namespace {

class ReshardChainer : ReshardRewriter {
 public:
  ReshardChainer(Module& module, const CostModel& cost) : ReshardRewriter(module, cost) {}

  bool run() {
    bool changed = false;
    std::unordered_map<ValueId, std::vector<ValueId>> versions;  // in program order
    walk(fn_, [&](OpId id) {
      if (fn_.op(id).code != OpCode::kReshard) return;
      const ValueId result = fn_.op(id).results[0];
      ValueId value = fn_.op(id).operands[0];
      if (placement(value) == placement(result)) {
        fn_.replace_all_uses(result, value);
        fn_.erase_op(id);
        changed = true;
        return;
      }
      std::vector<ValueId>& made = versions[value];
      const ValueId nearest = nearest_of(made, id);
      made.push_back(result);
      if (nearest == ValueId::kNone) return;
      fn_.set_operand(id, 0, nearest);
      changed = true;
    });
    return changed;
  }

 private:
  ValueId nearest_of(const std::vector<ValueId>& versions, OpId reshard) {
    const Op& op = fn_.op(reshard);
    const Placement target = placement(op.results[0]);
    const ValueId value = op.operands[0];
    ValueId nearest = ValueId::kNone;
    double least = seconds(value, placement(value), target) * (1 - 1e-9);
    for (ValueId version : versions) {
      if (!encloses(fn_.op(fn_.value(version).def).block, op.block)) continue;
      const double cost = seconds(version, placement(version), target);
      if (cost >= least || placement(version) == target) continue;
      least = cost;
      nearest = version;
    }
    return nearest;
  }

  // Whether a value made in `outer`, before, may be read in `inner`.
  bool encloses(BlockId outer, BlockId inner) const {
    while (inner != outer) {
      const OpId parent = fn_.block(inner).parent;
      if (parent == OpId::kNone) return false;
      inner = fn_.op(parent).block;
    }
    return true;
  }
};

}  // namespace

Pass chain_reshards_pass() {
  return {"chain_reshards", "reshard from the nearest version of a value",
          [](Module& module, PassContext& context) {
            if (module.mesh.num_axes() == 0) return false;
            return ReshardChainer(module, context.options.cost).run();
          }};
}

}  // namespace spmd
