// OpSharding, its named form and meshes: from messages to sharding/spec.
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
      if (axis.pre < 1 || axis.size < 1 || full % axis.pre != 0 ||
          full / axis.pre % axis.size != 0) {
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
  if (proto.has_named_sharding()) {
    result.kind = HloSharding::Kind::kNamed;
    result.mesh = mesh_from(proto.named_sharding().mesh());
    result.named = named_from(proto.named_sharding(), result.mesh);
    return result;
  }
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

}  // namespace spmd::hlo_proto
