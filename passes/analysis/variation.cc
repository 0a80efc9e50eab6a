#include "passes/analysis/variation.h"

#include <algorithm>
#include <unordered_map>

namespace spmd {
namespace {

AxisMask mask_of(const AxisList& axes) {
  AxisMask mask = 0;
  for (const AxisRef& axis : axes) mask |= AxisMask{1} << axis.axis;
  return mask;
}

AxisMask axes_named(const Sharding& sharding) {
  AxisMask mask = 0;
  for (const DimSharding& dim : sharding.dims) mask |= mask_of(dim.axes);
  return mask;
}

// No axes: devices are named one by one.
AxisMask moved_along(const AxisList& axes, AxisMask around) {
  return axes.empty() ? around : mask_of(axes) & around;
}

// Axes along which the members of a group differ.
AxisMask spanned_by(const CollectiveGroups& groups, const Mesh& mesh) {
  AxisMask mask = mask_of(groups.axes);
  for (const std::vector<int64_t>& group : groups.explicit_groups) {
    const std::vector<int64_t> first = mesh.coordinates_of(group[0]);
    for (int64_t device : group) {
      const std::vector<int64_t> other = mesh.coordinates_of(device);
      for (size_t axis = 0; axis < first.size(); ++axis) {
        if (first[axis] != other[axis]) mask |= AxisMask{1} << axis;
      }
    }
  }
  return mask;
}

// Whether devices that differ only along `axis` are in one group.
bool joins(const std::vector<std::vector<int64_t>>& groups, int axis, const Mesh& mesh) {
  std::unordered_map<int64_t, size_t> group_of_device;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (int64_t device : groups[g]) group_of_device[device] = g;
  }
  for (const auto& [device, group] : group_of_device) {
    std::vector<int64_t> coordinates = mesh.coordinates_of(device);
    for (int64_t c = 0; c < mesh.axis_size(axis); ++c) {
      coordinates[static_cast<size_t>(axis)] = c;
      const auto found = group_of_device.find(mesh.device_at(coordinates));
      if (found == group_of_device.end() || found->second != group) return false;
    }
  }
  return true;
}

// Axes along which all members of a group hold the same afterwards.
AxisMask made_equal(const CollectiveGroups& groups, AxisMask around, const Mesh& mesh) {
  AxisMask mask = 0;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    const AxisRef ref{axis, 1, 0};
    const bool named = std::find(groups.axes.begin(), groups.axes.end(), ref) != groups.axes.end();
    if (named || (groups.is_explicit() && joins(groups.explicit_groups, axis, mesh))) {
      mask |= AxisMask{1} << axis;
    }
  }
  return mask & around;
}

}  // namespace

AxisMask axes_spanned(const Op& op, const Mesh& mesh) {
  switch (op.code) {
    case OpCode::kAllReduce:
      return spanned_by(op.as<AllReduceAttrs>().groups, mesh);
    case OpCode::kAllGather:
      return spanned_by(op.as<AllGatherAttrs>().groups, mesh);
    case OpCode::kReduceScatter:
      return spanned_by(op.as<ReduceScatterAttrs>().groups, mesh);
    case OpCode::kAllToAll:
      return spanned_by(op.as<AllToAllAttrs>().groups, mesh);
    case OpCode::kCollectivePermute:
      return moved_along(op.as<CollectivePermuteAttrs>().axes, ~AxisMask{0});
    default:
      return 0;
  }
}

Variation::Variation(const Module& module, VariationSource source)
    : module_(module),
      fn_(module.main()),
      source_(source),
      varying_(module.main().num_value_ids()) {
  visit(fn_.body(), 0);
}

AxisMask Variation::of(ValueId value) const { return varying_[index_of(value)]; }

void Variation::visit(BlockId block, AxisMask around) {
  for_each_op(fn_, block, [&](OpId id) { visit_op(fn_.op(id), around); });
}

void Variation::visit_op(const Op& op, AxisMask around) {
  if (op.code == OpCode::kManualComputation) return visit_manual(op, around);
  if (op.code == OpCode::kWhile) return visit_while(op, around);
  if (op.code == OpCode::kIf || op.code == OpCode::kCase) return visit_branches(op, around);
  AxisMask mask = 0;
  for (ValueId operand : op.operands) mask |= of(operand);
  // What a region gives may be what it is given next.
  for (AxisMask before = ~AxisMask{0}; !op.regions.empty() && before != mask;) {
    before = mask;
    for (BlockId region : op.regions) {
      for (ValueId argument : fn_.block(region).args) varying_[index_of(argument)] = mask;
      visit(region, around);
      for (ValueId returned : fn_.op(fn_.terminator(region)).operands) mask |= of(returned);
    }
  }
  // Collectives and barriers do the same to each of their operands.
  const bool one_by_one =
      family_of(op.code) == OpFamily::kCollective || op.code == OpCode::kOptimizationBarrier;
  for (size_t i = 0; i < op.results.size(); ++i) {
    const bool own = one_by_one && op.operands.size() == op.results.size();
    varying_[index_of(op.results[i])] = after(op, own ? of(op.operands[i]) : mask, around);
  }
}

// Each carry varies as what it starts as and what becomes of it, and all do where the number of
// trips does.
void Variation::visit_while(const Op& op, AxisMask around) {
  const BlockId condition = op.regions[0], body = op.regions[1];
  // What an earlier visit, from a loop around this one, found out stays true.
  std::vector<AxisMask> carried;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    carried.push_back(of(op.operands[i]) | of(fn_.block(body).args[i]));
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 0; i < carried.size(); ++i) {
      varying_[index_of(fn_.block(condition).args[i])] = carried[i];
      varying_[index_of(fn_.block(body).args[i])] = carried[i];
    }
    visit(condition, around);
    visit(body, around);
    const AxisMask trips = of(fn_.op(fn_.terminator(condition)).operands[0]);
    const ValueIds& next = fn_.op(fn_.terminator(body)).operands;
    for (size_t i = 0; i < carried.size(); ++i) {
      const AxisMask mask = carried[i] | of(next[i]) | trips;
      grown = grown || mask != carried[i];
      carried[i] = mask;
    }
  }
  for (size_t i = 0; i < carried.size(); ++i) varying_[index_of(op.results[i])] = carried[i];
}

void Variation::visit_branches(const Op& op, AxisMask around) {
  std::vector<AxisMask> masks(op.results.size(), of(op.operands[0]));
  for (BlockId region : op.regions) {
    visit(region, around);
    const ValueIds& returned = fn_.op(fn_.terminator(region)).operands;
    for (size_t i = 0; i < masks.size(); ++i) masks[i] |= of(returned[i]);
  }
  for (size_t i = 0; i < masks.size(); ++i) varying_[index_of(op.results[i])] = masks[i];
}

AxisMask Variation::after(const Op& op, AxisMask mask, AxisMask around) const {
  const Mesh& mesh = module_.mesh;
  // A collective of equal values gives equal ones, where each device gets the same parts.
  const bool numbers_only = source_ == VariationSource::kDeviceNumbers;
  const AxisMask given = numbers_only ? 0 : axes_spanned(op, mesh) & around;
  switch (op.code) {
    case OpCode::kAllReduce:
      return mask & ~made_equal(op.as<AllReduceAttrs>().groups, around, mesh);
    case OpCode::kAllGather:
      return mask & ~made_equal(op.as<AllGatherAttrs>().groups, around, mesh);
    case OpCode::kReduceScatter:
    case OpCode::kAllToAll:
    case OpCode::kCollectivePermute:
      return mask | given;
    case OpCode::kAxisIndex:
      return mask | moved_along(op.as<AxisIndexAttrs>().axes, around);
    case OpCode::kPartitionId:
      return around;
    default:
      return mask;
  }
}

void Variation::visit_manual(const Op& op, AxisMask around) {
  const auto& attrs = op.as<ManualComputationAttrs>();
  const AxisMask own = mask_of(attrs.manual_axes);
  const BlockId region = op.regions[0];
  const std::vector<ValueId>& args = fn_.block(region).args;
  for (size_t i = 0; i < args.size(); ++i) {
    const AxisMask cut =
        source_ == VariationSource::kDeviceNumbers ? 0 : axes_named(attrs.in_shardings[i]) & own;
    varying_[index_of(args[i])] = of(op.operands[i]) | cut;
  }
  visit(region, around | own);
  const ValueIds& returned = fn_.op(fn_.terminator(region)).operands;
  for (size_t i = 0; i < returned.size(); ++i) {
    const AxisMask mask = of(returned[i]);
    if ((mask & own & ~axes_named(attrs.out_shardings[i])) != 0) well_defined_ = false;
    varying_[index_of(op.results[i])] = mask & ~own;
  }
}

}  // namespace spmd
