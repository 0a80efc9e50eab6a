// OpSharding, its named form and meshes: from messages to sharding/spec, and back.
#include "frontends/hlo_proto/shardings.h"
#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

SubgroupType subgroup_from(hlo::OpSharding::Type type) {
  switch (type) {
    case hlo::OpSharding::MANUAL:
      return SubgroupType::kManual;
    case hlo::OpSharding::UNREDUCED:
      return SubgroupType::kUnreduced;
    default:
      return SubgroupType::kReplicated;
  }
}

TileAssignment tiles_from(const hlo::OpSharding& proto) {
  TileAssignment tiles;
  const auto copy = [](const auto& from, std::vector<int64_t>& to) {
    to.assign(from.begin(), from.end());
  };
  copy(proto.tile_assignment_dimensions(), tiles.dims);
  copy(proto.tile_assignment_devices(), tiles.devices);
  copy(proto.iota_reshape_dims(), tiles.iota_reshape);
  copy(proto.iota_transpose_perm(), tiles.iota_transpose);
  if (proto.replicate_on_last_tile_dim()) tiles.trailing.push_back(SubgroupType::kReplicated);
  for (int type : proto.last_tile_dims()) {
    tiles.trailing.push_back(subgroup_from(static_cast<hlo::OpSharding::Type>(type)));
  }
  return tiles;
}

ReductionKind reduction_from(hlo::NamedShardingProto::Reduction reduction) {
  switch (reduction) {
    case hlo::NamedShardingProto::MAX:
      return ReductionKind::kMax;
    case hlo::NamedShardingProto::MIN:
      return ReductionKind::kMin;
    default:
      return ReductionKind::kSum;
  }
}

hlo::NamedShardingProto::Reduction reduction_proto(ReductionKind reduction) {
  switch (reduction) {
    case ReductionKind::kMax:
      return hlo::NamedShardingProto::MAX;
    case ReductionKind::kMin:
      return hlo::NamedShardingProto::MIN;
    default:
      return hlo::NamedShardingProto::SUM;
  }
}

Sharding named_from(const hlo::NamedShardingProto& proto, const Mesh& mesh) {
  Sharding sharding;
  for (const auto& dim : proto.dim_shardings()) {
    DimSharding dim_sharding;
    dim_sharding.axes = axes_from(dim.axes(), mesh, {});
    dim_sharding.open = !dim.is_closed();
    sharding.dims.push_back(std::move(dim_sharding));
  }
  sharding.replicated = axes_from(proto.replicated_axes(), mesh, {});
  sharding.unreduced = axes_from(proto.unreduced_axes(), mesh, {});
  sharding.reduction = reduction_from(proto.reduction_op());
  sharding.manual = axes_from(proto.manual_axes(), mesh, {});
  return sharding;
}

// A sharding without dimensions holds for any rank: on one device, or alike over all axes.
HloSharding named_sharding_from(const hlo::NamedShardingProto& proto) {
  HloSharding result;
  const bool is_maximal = proto.mesh().axes().empty() && proto.mesh().device_ids_size() == 1;
  if (is_maximal) {
    result.kind = HloSharding::Kind::kMaximal;
    result.device = proto.mesh().device_ids(0);
    return result;
  }
  result.mesh = mesh_from(proto.mesh());
  result.named = named_from(proto, result.mesh);
  result.kind = HloSharding::Kind::kNamed;
  if (!proto.dim_shardings().empty()) return result;
  if (!proto.manual_axes().empty()) {
    result.kind = HloSharding::Kind::kManual;
  } else if (!proto.unreduced_axes().empty()) {
    result.kind = HloSharding::Kind::kUnreduced;
  } else {
    result.kind = HloSharding::Kind::kReplicated;
  }
  return result;
}

std::vector<int64_t> device_ids_from(const hlo::MeshProto& proto, int64_t num_devices) {
  if (!proto.has_iota_transform()) return {proto.device_ids().begin(), proto.device_ids().end()};
  TileAssignment iota;
  iota.dims = {num_devices};
  const auto& transform = proto.iota_transform();
  iota.iota_reshape.assign(transform.reshape_dims().begin(), transform.reshape_dims().end());
  iota.iota_transpose.assign(transform.transpose_perm().begin(), transform.transpose_perm().end());
  check_tiles(iota);
  return devices_of(iota);
}

}  // namespace

const std::string* find_attribute(const hlo::FrontendAttributes& attributes, const char* key) {
  for (const auto& entry : attributes.map()) {
    if (entry.key() == key) return &entry.value();
  }
  return nullptr;
}

Mesh mesh_from(const hlo::MeshProto& proto) {
  std::vector<MeshAxis> axes;
  int64_t num_devices = 1;
  for (const auto& axis : proto.axes()) {
    axes.push_back({axis.name(), axis.size()});
    if (axis.size() <= 0 || __builtin_mul_overflow(num_devices, axis.size(), &num_devices) ||
        num_devices > kMaxTileDevices) {
      throw UserError({}, fmt::format("mesh axis \"{}\" has size {}", axis.name(), axis.size()));
    }
  }
  return Mesh(std::move(axes), device_ids_from(proto, num_devices));
}

AxisList axes_from(const google::protobuf::RepeatedPtrField<hlo::AxisRefProto>& protos,
                   const Mesh& mesh, const std::string& place) {
  AxisList axes;
  for (const hlo::AxisRefProto& proto : protos) {
    const int64_t index = proto.mesh_axis_index();
    if (index < 0 || index >= mesh.num_axes()) {
      throw UserError(place, fmt::format("mesh axis {} of a sharding is not among the {} axes of "
                                         "mesh {}",
                                         index, mesh.num_axes(), mesh.to_string()));
    }
    AxisRef axis;
    axis.axis = static_cast<int>(index);
    if (proto.has_sub_axis_info()) {
      axis.pre = proto.sub_axis_info().pre_size();
      axis.size = proto.sub_axis_info().size();
      const int64_t full = mesh.axis_size(axis.axis);
      if (!is_factor(axis.pre, axis.size, full)) {
        throw UserError(
            place, fmt::format("({}){} is no factor of axis \"{}\" of mesh {}", axis.pre, axis.size,
                               mesh.axes()[static_cast<size_t>(index)].name, mesh.to_string()));
      }
    }
    axes.push_back(axis);
  }
  return axes;
}

HloSharding hlo_sharding_from(const hlo::OpSharding& proto) {
  HloSharding result;
  if (proto.has_named_sharding()) return named_sharding_from(proto.named_sharding());
  switch (proto.type()) {
    case hlo::OpSharding::REPLICATED:
      result.kind = HloSharding::Kind::kReplicated;
      break;
    case hlo::OpSharding::MAXIMAL:
      result.kind = HloSharding::Kind::kMaximal;
      if (proto.tile_assignment_devices_size() > 0) {
        result.device = proto.tile_assignment_devices(0);
      }
      break;
    case hlo::OpSharding::TUPLE:
      result.kind = HloSharding::Kind::kTuple;
      for (const auto& element : proto.tuple_shardings()) {
        result.elements.push_back(hlo_sharding_from(element));
      }
      break;
    case hlo::OpSharding::OTHER:
      result.kind = HloSharding::Kind::kTiled;
      result.tiles = tiles_from(proto);
      break;
    case hlo::OpSharding::MANUAL:
      result.kind = HloSharding::Kind::kManual;
      break;
    case hlo::OpSharding::UNREDUCED:
      result.kind = HloSharding::Kind::kUnreduced;
      break;
    default:
      break;
  }
  return result;
}

namespace {

AxisList all_axes(const Mesh& mesh) {
  AxisList axes;
  for (int i = 0; i < mesh.num_axes(); ++i) axes.push_back({i, 1, 0});
  return axes;
}

void set_tiles(const TileAssignment& tiles, hlo::OpSharding& proto) {
  const auto copy = [](const std::vector<int64_t>& from, auto& to) {
    to.Assign(from.begin(), from.end());
  };
  proto.set_type(hlo::OpSharding::OTHER);
  copy(tiles.dims, *proto.mutable_tile_assignment_dimensions());
  copy(tiles.devices, *proto.mutable_tile_assignment_devices());
  copy(tiles.iota_reshape, *proto.mutable_iota_reshape_dims());
  copy(tiles.iota_transpose, *proto.mutable_iota_transpose_perm());
  for (const SubgroupType type : tiles.trailing) {
    proto.add_last_tile_dims(type == SubgroupType::kManual      ? hlo::OpSharding::MANUAL
                             : type == SubgroupType::kUnreduced ? hlo::OpSharding::UNREDUCED
                                                                : hlo::OpSharding::REPLICATED);
  }
}

void set_named(const Sharding& sharding, const Mesh& mesh, hlo::NamedShardingProto& proto) {
  *proto.mutable_mesh() = mesh_proto_from(mesh);
  for (const DimSharding& dim : sharding.dims) {
    auto& to = *proto.add_dim_shardings();
    set_axes(dim.axes, *to.mutable_axes());
    to.set_is_closed(!dim.open);
  }
  set_axes(sharding.replicated, *proto.mutable_replicated_axes());
  set_axes(sharding.unreduced, *proto.mutable_unreduced_axes());
  set_axes(sharding.manual, *proto.mutable_manual_axes());
  proto.set_reduction_op(reduction_proto(sharding.reduction));
}

// The form without dimensions, over all axes of the mesh that the sharding names.
void set_over_all_axes(const HloSharding& sharding, hlo::NamedShardingProto& proto) {
  Sharding named;
  named.reduction = sharding.named.reduction;
  if (sharding.kind == HloSharding::Kind::kManual) named.manual = all_axes(sharding.mesh);
  if (sharding.kind == HloSharding::Kind::kUnreduced) named.unreduced = all_axes(sharding.mesh);
  set_named(named, sharding.mesh, proto);
}

}  // namespace

hlo::MeshProto mesh_proto_from(const Mesh& mesh) {
  hlo::MeshProto proto;
  for (const MeshAxis& axis : mesh.axes()) {
    auto& to = *proto.add_axes();
    to.set_name(axis.name);
    to.set_size(axis.size);
  }
  proto.mutable_device_ids()->Assign(mesh.device_ids().begin(), mesh.device_ids().end());
  return proto;
}

void set_axes(const AxisList& axes, google::protobuf::RepeatedPtrField<hlo::AxisRefProto>& to) {
  for (const AxisRef& axis : axes) {
    hlo::AxisRefProto& proto = *to.Add();
    proto.set_mesh_axis_index(axis.axis);
    if (axis.size == 0) continue;  // the whole axis
    proto.mutable_sub_axis_info()->set_pre_size(axis.pre);
    proto.mutable_sub_axis_info()->set_size(axis.size);
  }
}

hlo::OpSharding op_sharding_from(const HloSharding& sharding) {
  using Kind = HloSharding::Kind;
  hlo::OpSharding proto;
  switch (sharding.kind) {
    case Kind::kUnknown:
      proto.set_type(hlo::OpSharding::UNKNOWN);
      break;
    case Kind::kReplicated:
    case Kind::kManual:
    case Kind::kUnreduced:
      if (sharding.mesh.num_axes() > 0) {
        set_over_all_axes(sharding, *proto.mutable_named_sharding());
        break;
      }
      proto.set_type(sharding.kind == Kind::kReplicated ? hlo::OpSharding::REPLICATED
                     : sharding.kind == Kind::kManual   ? hlo::OpSharding::MANUAL
                                                        : hlo::OpSharding::UNREDUCED);
      break;
    case Kind::kMaximal:
      proto.set_type(hlo::OpSharding::MAXIMAL);
      proto.add_tile_assignment_devices(sharding.device);
      break;
    case Kind::kTiled:
      set_tiles(sharding.tiles, proto);
      break;
    case Kind::kNamed:
      set_named(sharding.named, sharding.mesh, *proto.mutable_named_sharding());
      break;
    case Kind::kTuple:
      proto.set_type(hlo::OpSharding::TUPLE);
      for (const HloSharding& element : sharding.elements) {
        *proto.add_tuple_shardings() = op_sharding_from(element);
      }
      break;
  }
  return proto;
}

}  // namespace spmd::hlo_proto
