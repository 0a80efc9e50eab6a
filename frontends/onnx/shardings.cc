#include "frontends/onnx/shardings.h"

#include <algorithm>
#include <map>

#include "frontends/onnx/onnx.pb.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

constexpr const char* kRemedy =
    "shard every tensor over all devices of its configuration, in contiguous blocks";

[[noreturn]] void fail(const std::string& place, const std::string& fact) {
  throw UserError(place, fact, kRemedy);
}

// Shards of one axis. Several entries are the parts of a fused dimension, major to minor: blocks
// are contiguous only while the parts before the last sharded one are cut into single elements.
int64_t shards_of(const ShardedDimProto& dim, const std::string& place) {
  int64_t shards = 1;
  bool whole = true;  // every part so far is cut into single elements
  for (const SimpleShardedDimProto& part : dim.simple_sharding()) {
    const int64_t count = part.num_shards();
    if (count < 1 || count > kMaxTileDevices) fail(place, "a sharding has a number of shards of 0");
    if (count > 1 && !whole) fail(place, "a sharding cuts an axis into parts that are not blocks");
    whole = whole && part.has_dim_value() && part.dim_value() == count;
    if (shards > kMaxTileDevices / count) fail(place, "a sharding has too many shards");
    shards *= count;
  }
  return shards;
}

// The devices of each shard, in row-major order of shards; all shards have equally many.
std::vector<std::vector<int64_t>> devices_of(const ShardingSpecProto& spec,
                                             const std::string& place) {
  std::vector<std::vector<int64_t>> groups;
  for (int64_t device : spec.device()) {
    std::vector<int64_t> group = {device};
    for (const IntIntListEntryProto& entry : spec.index_to_device_group_map()) {
      if (entry.key() == device) group.assign(entry.value().begin(), entry.value().end());
    }
    groups.push_back(std::move(group));
    if (groups.back().empty() || groups.back().size() != groups[0].size()) {
      fail(place, "the shards of a tensor lie on different numbers of devices");
    }
  }
  return groups;
}

// The grid of devices of a tensor with the given shards per dimension.
TileAssignment tiles_of(const ShardingSpecProto& spec, std::vector<int64_t> dims,
                        const std::string& place) {
  const std::vector<std::vector<int64_t>> groups = devices_of(spec, place);
  int64_t shards = 1;
  for (int64_t size : dims) {
    if (shards > kMaxTileDevices / size) fail(place, "a sharding has too many shards");
    shards *= size;
  }
  if (shards != static_cast<int64_t>(groups.size())) {
    fail(place, fmt::format("a sharding has {} shards for {} devices or groups of devices", shards,
                            groups.size()));
  }
  TileAssignment tiles;
  tiles.dims = std::move(dims);
  for (const auto& group : groups) {
    tiles.devices.insert(tiles.devices.end(), group.begin(), group.end());
  }
  if (!groups.empty() && groups[0].size() > 1) {
    tiles.dims.push_back(static_cast<int64_t>(groups[0].size()));
    tiles.trailing.push_back(SubgroupType::kReplicated);
  }
  return tiles;
}

// The grid without dimensions that are not sharded: enough to find a mesh, without knowing the
// tensor's rank. Axes counted from the end come after the others.
TileAssignment tiles_of(const ShardingSpecProto& spec, const std::string& place) {
  std::map<std::pair<bool, int64_t>, int64_t> shards;
  for (const ShardedDimProto& dim : spec.sharded_dim()) {
    shards[{dim.axis() < 0, dim.axis()}] = shards_of(dim, place);
  }
  std::vector<int64_t> dims;
  for (const auto& [axis, count] : shards) dims.push_back(count);
  return tiles_of(spec, std::move(dims), place);
}

TileAssignment tiles_of(const ShardingSpecProto& spec, int64_t rank, const std::string& place) {
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  for (const ShardedDimProto& dim : spec.sharded_dim()) {
    const int64_t axis = dim.axis() < 0 ? dim.axis() + rank : dim.axis();
    if (axis < 0 || axis >= rank) {
      fail(place,
           fmt::format("axis {} of a sharding is out of range for rank {}", dim.axis(), rank));
    }
    dims[static_cast<size_t>(axis)] = shards_of(dim, place);
  }
  return tiles_of(spec, std::move(dims), place);
}

template <typename Work>
auto at_place(const std::string& place, Work&& work) {
  try {
    return work();
  } catch (const UserError& error) {
    const std::string text = error.what();
    if (text.starts_with(place)) throw;
    throw UserError(place, text, kRemedy);
  }
}

// Adds the grids of nodes, and of those in their branches and loops, of one configuration.
void add_tiles(const google::protobuf::RepeatedPtrField<NodeProto>& nodes,
               const std::string& configuration, const std::string& source,
               std::vector<TileAssignment>& tiles) {
  for (const NodeProto& node : nodes) {
    for (const AttributeProto& attribute : node.attribute()) {
      add_tiles(attribute.g().node(), configuration, source, tiles);
    }
    for (const NodeDeviceConfigurationProto& placement : node.device_configurations()) {
      if (placement.configuration_id() != configuration) continue;
      for (const ShardingSpecProto& spec : placement.sharding_spec()) {
        const std::string place = fmt::format("{}: node \"{}\": sharding of \"{}\"", source,
                                              node.name(), spec.tensor_name());
        tiles.push_back(tiles_of(spec, place));
        at_place(place, [&] { return check_tiles(tiles.back()); });
      }
    }
  }
}

}  // namespace

Shardings::Shardings(const ModelProto& model, const std::string& source) {
  if (model.configuration_size() == 0) return;
  configuration_ = model.configuration(0).name();
  std::vector<TileAssignment> tiles;
  add_tiles(model.graph().node(), configuration_, source, tiles);
  for (const FunctionProto& function : model.functions()) {
    add_tiles(function.node(), configuration_, source, tiles);
  }
  if (tiles.empty()) return;
  const int64_t devices =
      std::clamp<int64_t>(model.configuration(0).num_devices(), 0, kMaxTileDevices);
  mesh_ = at_place(fmt::format("{}: configuration \"{}\"", source, configuration_),
                   [&] { return mesh_from_tiles(tiles, devices); });
}

ShardingRef Shardings::find(const NodeProto& node, const std::string& tensor, int64_t rank,
                            const std::string& place) const {
  if (configuration_.empty()) return nullptr;
  for (const NodeDeviceConfigurationProto& placement : node.device_configurations()) {
    if (placement.configuration_id() != configuration_) continue;
    for (const ShardingSpecProto& spec : placement.sharding_spec()) {
      if (spec.tensor_name() != tensor) continue;
      const std::string where = fmt::format("{}: sharding of \"{}\"", place, tensor);
      return at_place(where, [&] {
        return std::make_shared<const Sharding>(
            sharding_from_tiles(tiles_of(spec, rank, where), mesh_, rank));
      });
    }
  }
  return nullptr;
}

}  // namespace spmd::onnx
