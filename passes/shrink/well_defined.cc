#include "passes/shrink/well_defined.h"

#include <algorithm>
#include <unordered_map>

namespace spmd::shrinking {
namespace {

using AxisMask = uint64_t;  // bit per mesh axis

AxisMask mask_of(const AxisList& axes) {
  AxisMask mask = 0;
  for (const AxisRef& axis : axes) mask |= AxisMask{1} << axis.axis;
  return mask;
}

AxisMask axes_of(const Sharding& sharding) {
  AxisMask mask = 0;
  for (const DimSharding& dim : sharding.dims) mask |= mask_of(dim.axes);
  return mask;
}

// Along which manual axes values vary.
class Variation {
 public:
  explicit Variation(const Module& module) : module_(module), fn_(module.main()) {}

  bool run() {
    visit(fn_.body(), 0);
    return well_defined_;
  }

 private:
  AxisMask varying(ValueId value) const {
    const auto found = varying_.find(value);
    return found == varying_.end() ? 0 : found->second;
  }

  // `around`: the manual axes of the computations that the block is in.
  void visit(BlockId block, AxisMask around) {
    for_each_op(fn_, block, [&](OpId id) { visit_op(fn_.op(id), around); });
  }

  void visit_op(const Op& op, AxisMask around) {
    if (op.code == OpCode::kManualComputation) return visit_manual(op, around);
    AxisMask mask = 0;
    for (ValueId operand : op.operands) mask |= varying(operand);
    // What a region gives may be what it is given next.
    for (AxisMask before = ~AxisMask{0}; !op.regions.empty() && before != mask;) {
      before = mask;
      for (BlockId region : op.regions) {
        for (ValueId argument : fn_.block(region).args) varying_[argument] = mask;
        visit(region, around);
        for (ValueId returned : fn_.op(fn_.terminator(region)).operands) mask |= varying(returned);
      }
    }
    // Collectives and barriers do the same to each of their operands.
    const bool one_by_one =
        family_of(op.code) == OpFamily::kCollective || op.code == OpCode::kOptimizationBarrier;
    for (size_t i = 0; i < op.results.size(); ++i) {
      const bool own = one_by_one && op.operands.size() == op.results.size();
      varying_[op.results[i]] = after(op, own ? varying(op.operands[i]) : mask, around);
    }
  }

  AxisMask after(const Op& op, AxisMask mask, AxisMask around) const {
    switch (op.code) {
      case OpCode::kAllReduce:
        return mask & ~made_equal(op.as<AllReduceAttrs>().groups, around);
      case OpCode::kAllGather:
        return mask & ~made_equal(op.as<AllGatherAttrs>().groups, around);
      case OpCode::kReduceScatter:
        return mask | made_different(op.as<ReduceScatterAttrs>().groups, around);
      case OpCode::kAllToAll:
        return mask | made_different(op.as<AllToAllAttrs>().groups, around);
      case OpCode::kCollectivePermute:
        return mask | moved_along(op.as<CollectivePermuteAttrs>().axes, around);
      case OpCode::kAxisIndex:
        return mask | moved_along(op.as<AxisIndexAttrs>().axes, around);
      case OpCode::kPartitionId:
        return around;
      default:
        return mask;
    }
  }

  // No axes: devices are named one by one.
  static AxisMask moved_along(const AxisList& axes, AxisMask around) {
    return axes.empty() ? around : mask_of(axes) & around;
  }

  // Axes along which the members of a group, who get different parts, differ.
  AxisMask made_different(const CollectiveGroups& groups, AxisMask around) const {
    AxisMask mask = mask_of(groups.axes);
    for (const std::vector<int64_t>& group : groups.explicit_groups) {
      const std::vector<int64_t> first = module_.mesh.coordinates_of(group[0]);
      for (int64_t device : group) {
        const std::vector<int64_t> other = module_.mesh.coordinates_of(device);
        for (size_t axis = 0; axis < first.size(); ++axis) {
          if (first[axis] != other[axis]) mask |= AxisMask{1} << axis;
        }
      }
    }
    return mask & around;
  }

  // Axes along which all members of a group hold the same afterwards.
  AxisMask made_equal(const CollectiveGroups& groups, AxisMask around) const {
    AxisMask mask = 0;
    for (int axis = 0; axis < module_.mesh.num_axes(); ++axis) {
      const AxisRef ref{axis, 1, 0};
      const bool named =
          std::find(groups.axes.begin(), groups.axes.end(), ref) != groups.axes.end();
      if (named || (groups.is_explicit() && spans(groups.explicit_groups, axis))) {
        mask |= AxisMask{1} << axis;
      }
    }
    return mask & around;
  }

  // Whether devices that differ only along `axis` are in one group.
  bool spans(const std::vector<std::vector<int64_t>>& groups, int axis) const {
    std::unordered_map<int64_t, size_t> group_of_device;
    for (size_t g = 0; g < groups.size(); ++g) {
      for (int64_t device : groups[g]) group_of_device[device] = g;
    }
    for (const auto& [device, group] : group_of_device) {
      std::vector<int64_t> coordinates = module_.mesh.coordinates_of(device);
      for (int64_t c = 0; c < module_.mesh.axis_size(axis); ++c) {
        coordinates[static_cast<size_t>(axis)] = c;
        const auto found = group_of_device.find(module_.mesh.device_at(coordinates));
        if (found == group_of_device.end() || found->second != group) return false;
      }
    }
    return true;
  }

  void visit_manual(const Op& op, AxisMask around) {
    const auto& attrs = op.as<ManualComputationAttrs>();
    const AxisMask own = mask_of(attrs.manual_axes);
    const BlockId region = op.regions[0];
    const std::vector<ValueId>& args = fn_.block(region).args;
    for (size_t i = 0; i < args.size(); ++i) {
      varying_[args[i]] = varying(op.operands[i]) | (axes_of(attrs.in_shardings[i]) & own);
    }
    visit(region, around | own);
    const std::vector<ValueId>& returned = fn_.op(fn_.terminator(region)).operands;
    for (size_t i = 0; i < returned.size(); ++i) {
      const AxisMask mask = varying(returned[i]);
      if ((mask & own & ~axes_of(attrs.out_shardings[i])) != 0) well_defined_ = false;
      varying_[op.results[i]] = mask & ~own;
    }
  }

  const Module& module_;
  const Function& fn_;
  std::unordered_map<ValueId, AxisMask> varying_;
  bool well_defined_ = true;
};

}  // namespace

bool is_well_defined(const Module& module) { return Variation(module).run(); }

}  // namespace spmd::shrinking
