#include "frontends/hlo_proto/replica_groups.h"

#include "frontends/at_place.h"

namespace spmd::hlo_proto {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

Groups listed(const google::protobuf::RepeatedPtrField<hlo::ReplicaGroup>& protos) {
  Groups groups;
  for (const hlo::ReplicaGroup& proto : protos) {
    groups.emplace_back(proto.replica_ids().begin(), proto.replica_ids().end());
  }
  return groups;
}

Groups from_iota(const hlo::IotaReplicaGroupListProto& proto) {
  TileAssignment tiles;
  tiles.dims = {proto.num_replica_groups(), proto.num_devices_per_group()};
  tiles.iota_reshape.assign(proto.iota_reshape_dims().begin(), proto.iota_reshape_dims().end());
  tiles.iota_transpose.assign(proto.iota_transpose_perm().begin(),
                              proto.iota_transpose_perm().end());
  check_tiles(tiles);
  const std::vector<int64_t> devices = devices_of(tiles);
  Groups groups;
  const auto size = static_cast<ptrdiff_t>(proto.num_devices_per_group());
  for (auto at = devices.begin(); at != devices.end(); at += size)
    groups.emplace_back(at, at + size);
  return groups;
}

CollectiveGroups canonical(Groups groups, const Mesh& mesh) {
  CollectiveGroups result;
  std::optional<AxisList> axes = axes_of_groups(groups, mesh);
  if (axes) {
    result.axes = std::move(*axes);
  } else {
    result.explicit_groups = std::move(groups);
  }
  return result;
}

void check_members(ModuleContext& context, const Instruction& instruction, const Groups& groups) {
  for (const auto& group : groups) {
    if (group.empty() || group.size() != groups.front().size()) {
      context.fail(instruction, "its replica groups are empty or differ in size");
    }
    for (int64_t member : group) {
      if (member < 0 || member >= kMaxTileDevices) {
        context.fail(instruction,
                     fmt::format("device {} of its replica groups is out of range", member));
      }
    }
  }
}

}  // namespace

CollectiveGroups groups_of(ModuleContext& context, const Instruction& instruction) {
  const Mesh& mesh = context.module.mesh;
  return at_place(context.place(instruction), [&]() -> CollectiveGroups {
    if (instruction.has_mesh_axes_replica_group_list()) {
      const auto& proto = instruction.mesh_axes_replica_group_list();
      const Mesh own = mesh_from(proto.mesh());
      AxisList axes = axes_from(proto.axes(), own, {});
      if (own == mesh) return {.axes = std::move(axes), .explicit_groups = {}};
      return canonical(device_groups(axes, own), mesh);
    }
    const auto& list = instruction.collective_device_list();
    Groups groups;
    if (instruction.has_iota_collective_device_list()) {
      groups = from_iota(instruction.iota_collective_device_list());
    } else if (list.has_iota_replica_group_list()) {
      groups = from_iota(list.iota_replica_group_list());
    } else {
      groups = listed(list.replica_groups_size() > 0 ? list.replica_groups()
                                                     : instruction.replica_groups());
    }
    check_members(context, instruction, groups);
    return canonical(std::move(groups), mesh);
  });
}

int64_t group_size(const CollectiveGroups& groups, const Mesh& mesh) {
  return groups.is_explicit() ? static_cast<int64_t>(groups.explicit_groups.front().size())
                              : axes_size(groups.axes, mesh);
}

}  // namespace spmd::hlo_proto
