#include "passes/spare_exchanges.h"

#include "passes/partition/cone.h"
#include "passes/partition/reshards.h"

namespace spmd {
namespace {

class ExchangeSparer : ReshardRewriter {
 public:
  ExchangeSparer(Module& module, const CostModel& cost)
      : ReshardRewriter(module, cost),
        recompute_(
            fn_, atoms_, costs_, cost, [this](ValueId value) { return placement(value); },
            [](ValueId, const Placement&) { return false; }),
        cones_(fn_, atoms_, costs_, cost, recompute_,
               [this](ValueId value) { return placement(value); }) {}

  bool run() {
    bool any = false;
    std::vector<OpId> reshards;
    walk(fn_, [&](OpId id) {
      any = any || cones_.exchanges(id);
      if (fn_.op(id).code == OpCode::kReshard) reshards.push_back(id);
    });
    if (!any) return false;
    bool changed = false;
    for (OpId id : reshards) changed |= spare(id);
    return changed;
  }

 private:
  bool spare(OpId reshard) {
    const ValueId operand = fn_.op(reshard).operands[0];
    if (fn_.value(fn_.op(reshard).results[0]).uses.empty()) return false;
    const double now = seconds(operand, placement(operand), placement(fn_.op(reshard).results[0]));
    if (now == 0) return false;
    recompute_.clear();
    const std::optional<Cone> cone = cones_.plan(reshard);
    if (!cone || cone->seconds >= now * (1 - 1e-9)) return false;
    build(*cone);
    return true;
  }

  // Right behind the last op of the cone, so that all its users can read the result.
  void build(const Cone& cone) {
    const OpId last = cone.nodes.back().op;
    Builder builder = Builder::after(fn_, last);
    ValueMap made;
    for (const Cone::Node& node : cone.nodes) {
      builder.location = fn_.op(node.op).location;
      ValueMap operands;
      const std::vector<ValueId> old = fn_.op(node.op).operands;
      for (size_t i = 0; i < old.size(); ++i) {
        const ValueId value = cones_.source(old[i]);
        const auto inside = made.find(value);
        const Placement needed = place(node.rule, node.rule.operands[i], node.assignment, atoms_);
        operands[old[i]] = inside != made.end() ? inside->second : reshard(builder, value, needed);
      }
      const ValueId result = fn_.op(clone_op(fn_, node.op, builder, operands)).results[0];
      set_placement(result, node.placement);
      made[fn_.op(node.op).results[0]] = result;
    }
    const ValueId old = fn_.op(last).results[0], whole = made.at(old);
    const std::vector<Use> uses = fn_.value(old).uses;
    const ValueId block = reshard(builder, whole, placement(old));
    for (const Use& use : uses) {
      const bool moves = fn_.op(use.op).code == OpCode::kReshard;
      fn_.set_operand(use.op, use.operand, moves ? whole : block);
    }
    erase_if_unused(block);
  }

  RecomputePlanner recompute_;
  ConePlanner cones_;
};

}  // namespace

Pass spare_exchanges_pass() {
  return {"spare_exchanges", "gather before an op where that costs less than behind it",
          [](Module& module, PassContext& context) {
            if (module.mesh.num_axes() == 0) return false;
            return ExchangeSparer(module, context.options.cost).run();
          }};
}

}  // namespace spmd
