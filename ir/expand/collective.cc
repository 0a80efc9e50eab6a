// collective_broadcast, cross-replica-sum and replica_id.
#include <algorithm>

#include "ir/expand/expansion.h"
#include "support/error.h"

namespace spmd::expand {
namespace {

ValueId with_type(Expansion& e, OpCode code, ValueId operand, TensorType type, Attrs attrs) {
  return e.fn.op(e.b.create(code, {operand}, {std::move(type)}, std::move(attrs))).results[0];
}

ValueId device_number(Expansion& e) { return e.b.value(OpCode::kPartitionId, {}); }

// What the first member of each group gathered first.
ValueId broadcast_by_gather(Expansion& e, const CollectiveGroups& groups, int64_t size) {
  const ValueId x = e.operand(0);
  const Dims shape = e.type(x).shape;
  Dims stacked = shape, start(shape.size() + 1, 0);
  stacked.insert(stacked.begin(), 1);
  const ValueId row = e.b.reshape(x, stacked);
  Dims all = stacked;
  all[0] = size;
  const ValueId rows =
      with_type(e, OpCode::kAllGather, row, e.type(row).with_shape(all), AllGatherAttrs{0, groups});
  return e.b.reshape(e.b.slice(rows, std::move(start), std::move(stacked)), shape);
}

// Whether this device is one of `devices`, in the shape of the operand.
ValueId is_one_of(Expansion& e, const std::vector<int64_t>& devices) {
  const int64_t count = e.module.mesh.num_devices();
  std::vector<uint8_t> members(static_cast<size_t>(count), 0);
  for (int64_t device : devices) {
    e.require(device >= 0 && device < count, fmt::format("there is no device {}", device));
    members[static_cast<size_t>(device)] = 1;
  }
  const ValueId table = e.b.constant(Literal::of({DType::kBool, {count}}, members));
  const ValueId entry =
      e.b.value(OpCode::kDynamicSlice, {table, device_number(e)}, DynamicSliceAttrs{{1}});
  return e.b.broadcast(e.b.reshape(entry, {}), e.operand_type(0).shape, {});
}

// Groups that leave devices out, which get zeros: one permutation per member.
ValueId broadcast_by_permutes(Expansion& e, const std::vector<std::vector<int64_t>>& groups) {
  const ValueId x = e.operand(0);
  std::vector<int64_t> roots;
  size_t rounds = 0;
  for (const auto& group : groups) {
    if (!group.empty()) roots.push_back(group[0]);
    rounds = std::max(rounds, group.size());
  }
  ValueId result = e.b.select(is_one_of(e, roots), x, e.like(x, 0));
  for (size_t round = 1; round < rounds; ++round) {
    CollectivePermuteAttrs attrs;
    std::vector<int64_t> targets;
    for (const auto& group : groups) {
      if (group.size() <= round) continue;
      attrs.source_target_pairs.emplace_back(group[0], group[round]);
      targets.push_back(group[round]);
    }
    const ValueId received = e.b.value(OpCode::kCollectivePermute, {x}, std::move(attrs));
    result = e.b.select(is_one_of(e, targets), received, result);
  }
  return result;
}

ValueId collective_broadcast(Expansion& e) {
  const CollectiveGroups groups = e.attrs<CollectiveBroadcastAttrs>().groups;
  const auto& lists = groups.explicit_groups;
  if (!groups.is_explicit()) {
    return broadcast_by_gather(e, groups, axes_size(groups.axes, e.module.mesh));
  }
  size_t members = 0;
  bool even = true;
  for (const auto& group : lists) {
    members += group.size();
    even = even && group.size() == lists[0].size();
  }
  const bool covers = static_cast<int64_t>(members) == e.module.mesh.num_devices();
  if (even && covers) return broadcast_by_gather(e, groups, static_cast<int64_t>(lists[0].size()));
  return broadcast_by_permutes(e, lists);
}

ValueId replica_id(Expansion& e) {
  if (e.replicas <= 1) return e.b.scalar(DType::kU32, 0);
  const int64_t partitions = e.module.mesh.num_devices() / e.replicas;
  const ValueId device = device_number(e);
  return e.binary(OpCode::kDivide, device, e.like(device, static_cast<double>(partitions)));
}

ValueId cross_replica_sum(Expansion& e) {
  const OpId id = e.b.create(OpCode::kAllReduce, {e.operand(0)}, {e.operand_type(0)}, e.op().attrs);
  add_reducer_region(e.fn, id, OpCode::kAdd, e.operand_type(0).dtype);
  return e.fn.op(id).results[0];
}

}  // namespace

Values expand_collective(Expansion& e) {
  switch (e.op().code) {
    case OpCode::kCollectiveBroadcast:
      return {collective_broadcast(e)};
    case OpCode::kCrossReplicaSum:
      return {cross_replica_sum(e)};
    default:
      return {replica_id(e)};
  }
}

}  // namespace spmd::expand
