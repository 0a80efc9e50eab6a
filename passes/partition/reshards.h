// What the passes that move reshards share.
#pragma once

#include "ir/builder.h"
#include "passes/partition/assignment.h"
#include "passes/partition/reshard_costs.h"

namespace spmd {

// Reads and writes placements of a function's values, and knows what reshards cost.
class ReshardRewriter {
 public:
  ReshardRewriter(Module& module, const CostModel& cost)
      : fn_(module.main()), atoms_(module.mesh), costs_(atoms_, cost) {}

 protected:
  Placement placement(ValueId value) const {
    const Value& v = fn_.value(value);
    return v.sharding ? to_placement(*v.sharding, atoms_) : Placement::replicated(v.type.rank());
  }
  void set_placement(ValueId value, const Placement& placement) {
    fn_.value(value).sharding = std::make_shared<const Sharding>(to_sharding(placement, atoms_));
  }
  // The reshard that defines a value, or null.
  const Op* reshard_of(ValueId value) const {
    const Op* op = fn_.def(value);
    return op != nullptr && op->code == OpCode::kReshard ? op : nullptr;
  }
  bool has_one_use(ValueId value) const { return fn_.value(value).uses.size() == 1; }

  ValueId reshard(Builder& builder, ValueId value, const Placement& target) {
    if (placement(value) == target) return value;
    const ValueId result =
        builder.value(OpCode::kReshard, {value}, ReshardAttrs{to_sharding(target, atoms_)});
    set_placement(result, target);
    return result;
  }
  double seconds(ValueId value, const Placement& from, const Placement& to) {
    return costs_.seconds(fn_.type(value), from, to, manual_axes_around(fn_, value, atoms_));
  }
  int64_t bytes_sent(ValueId value, const Placement& from, const Placement& to) {
    if (from == to || from.is_replicated()) return 0;
    const AtomMask manual = manual_axes_around(fn_, value, atoms_);
    return costs_.plan(fn_.type(value), from, to, manual).bytes_sent;
  }
  // Erases a reshard that lost its users.
  void erase_if_unused(ValueId value) {
    if (reshard_of(value) != nullptr && fn_.value(value).uses.empty()) {
      fn_.erase_op(fn_.value(value).def);
    }
  }

  Function& fn_;
  AtomTable atoms_;
  ReshardCosts costs_;
};

}  // namespace spmd
