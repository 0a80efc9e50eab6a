// Attributes of collectives: groups of devices and mesh axes.
#include "ir/text/enum_names.h"
#include "ir/text/module_builder.h"
#include "sharding/spec/tile_assignment.h"
#include "support/error.h"

namespace spmd::text {

using Kind = Attribute::Kind;

namespace {

// `#stablehlo.mesh<axes = [<name = "x", size = 2>], device_ids = dense<[1, 0]> : tensor<2xi64>>`
Mesh mesh_of(const AttributeReader& from, const Attribute& mesh) {
  std::vector<MeshAxis> axes;
  for (const Attribute& element : from.get("axes").elements) {
    const AttributeReader axis = from.dict(element);
    axes.push_back({axis.string_or("name", ""), axis.integer("size")});
  }
  try {
    return Mesh(std::move(axes), from.integers_or("device_ids", {}));
  } catch (const UserError& error) {
    from.fail(mesh, "mesh", fmt::format("a mesh; {}", error.what()));
  }
}

}  // namespace

// `#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x",
// sub_axis_info = (1)2>]>`
AxisList ModuleBuilder::parse_mesh_axes(const AttributeReader& from, const Attribute& attribute) {
  const AttributeReader group = from.dict(attribute);
  const Attribute& name = group.get("mesh");
  Mesh written;
  if (name.kind == Kind::kDict) written = mesh_of(group.dict(name), name);
  const Mesh* mesh = name.kind == Kind::kDict     ? &written
                     : name.kind == Kind::kSymbol ? mesh_named(name.string)
                                                  : nullptr;
  if (mesh == nullptr) group.fail(name, "mesh", "@ and the name of a mesh");
  const Attribute& list = group.get("axes");
  if (list.kind != Kind::kArray) group.fail(list, "axes", "a list of axes");
  AxisList axes;
  for (const Attribute& element : list.elements) {
    const AttributeReader axis = group.dict(element);
    const auto found = mesh->find_axis(axis.string_or("name", ""));
    if (!found) axis.fail(axis.get("name"), "name", "an axis of " + mesh->to_string());
    AxisRef ref{*found, 1, 0};
    const std::vector<int64_t> sub = axis.integers_or("sub_axis_info", {});
    const int64_t full = mesh->axis_size(*found);
    if (sub.size() == 2) {
      ref.pre = sub[0];
      ref.size = sub[1];
      if (ref.size < 2 || !is_factor(ref.pre, ref.size, full)) {
        axis.fail(axis.get("sub_axis_info"), "sub_axis_info",
                  fmt::format("a factor of an axis of size {}", full));
      }
    }
    axes.push_back(ref);
  }
  return to_module_axes(axes, *mesh, attribute.position);
}

namespace {

// Rows of a list of lists; entries of -1 fill up short groups.
std::vector<std::vector<int64_t>> rows_of(const AttributeReader& from, const Attribute& attribute,
                                          std::string_view name) {
  std::vector<std::vector<int64_t>> rows;
  if (attribute.kind == Kind::kArray) {
    for (const Attribute& element : attribute.elements) {
      rows.push_back(from.integers_of(element, name));
    }
  } else {
    const std::vector<int64_t> flat = from.integers_of(attribute, name);
    if (attribute.kind != Kind::kLiteral || attribute.literal.type().rank() != 2) {
      from.fail(attribute, name, "a tensor of rank 2");
    }
    const auto width = static_cast<size_t>(attribute.literal.type().dim(1));
    for (size_t at = 0; width > 0 && at < flat.size(); at += width) {
      const auto begin = flat.begin() + static_cast<ptrdiff_t>(at);
      rows.emplace_back(begin, begin + static_cast<ptrdiff_t>(width));
    }
  }
  for (auto& row : rows) std::erase(row, -1);
  return rows;
}

}  // namespace

namespace {

// What numbers in groups mean, by the specification's rules.
enum class Numbers : uint8_t { kReplicas, kPartitions, kReplicasOfAllPartitions, kDevices };

Numbers numbers_of(const AttributeReader& from, bool reduces_or_gathers) {
  int64_t channel = 0;
  if (const Attribute* handle = from.find("channel_handle")) {
    if (handle->kind == Kind::kDict) channel = from.dict(*handle).integer_or("handle", 0);
  }
  channel = from.integer_or("channel_id", channel);
  if (channel <= 0) return Numbers::kReplicas;
  if (!reduces_or_gathers) return Numbers::kPartitions;
  return from.boolean_or("use_global_device_ids", false) ? Numbers::kDevices
                                                         : Numbers::kReplicasOfAllPartitions;
}

// As numbers of devices, where there are several replicas.
std::vector<std::vector<int64_t>> to_devices(const std::vector<std::vector<int64_t>>& groups,
                                             Numbers numbers, int64_t replicas,
                                             int64_t partitions) {
  std::vector<std::vector<int64_t>> result;
  switch (numbers) {
    case Numbers::kReplicas:
      for (int64_t p = 0; p < partitions; ++p) {
        for (const auto& group : groups) {
          result.emplace_back();
          for (int64_t r : group) result.back().push_back(r * partitions + p);
        }
      }
      return result;
    case Numbers::kPartitions:
      for (int64_t r = 0; r < replicas; ++r) {
        for (const auto& group : groups) {
          result.emplace_back();
          for (int64_t p : group) result.back().push_back(r * partitions + p);
        }
      }
      return result;
    case Numbers::kReplicasOfAllPartitions:
      for (const auto& group : groups) {
        result.emplace_back();
        for (int64_t p = 0; p < partitions; ++p) {
          for (int64_t r : group) result.back().push_back(r * partitions + p);
        }
      }
      return result;
    case Numbers::kDevices:
      break;
  }
  return groups;
}

RankPairs to_device_pairs(const RankPairs& pairs, Numbers numbers, int64_t replicas,
                          int64_t partitions) {
  std::vector<std::vector<int64_t>> lists;
  for (const auto& [source, target] : pairs) lists.push_back({source, target});
  RankPairs result;
  for (const auto& pair : to_devices(lists, numbers, replicas, partitions)) {
    result.emplace_back(pair[0], pair[1]);
  }
  return result;
}

bool reduces_or_gathers(OpCode code) {
  return code == OpCode::kAllGather || code == OpCode::kAllReduce ||
         code == OpCode::kReduceScatter || code == OpCode::kCrossReplicaSum;
}

}  // namespace

// Explicit lists become axes where they follow axes of the mesh.
CollectiveGroups ModuleBuilder::parse_groups(const AttributeReader& from, OpCode code) {
  CollectiveGroups groups;
  const Attribute* attribute = from.find("replica_groups");
  if (attribute == nullptr) {
    groups.axes = axes_of_groups({}, module_.mesh).value();
    return groups;
  }
  if (attribute->kind == Kind::kDict) {
    groups.axes = parse_mesh_axes(from, *attribute);
    return groups;
  }
  groups.explicit_groups = rows_of(from, *attribute, "replica_groups");
  for (const auto& group : groups.explicit_groups) {
    for (int64_t device : group) {
      if (device < 0) from.fail(*attribute, "replica_groups", "device numbers");
    }
  }
  if (replicas_ > 1) {
    const int64_t partitions = module_.mesh.num_devices() / replicas_;
    const Numbers numbers = numbers_of(from, reduces_or_gathers(code));
    auto& lists = groups.explicit_groups;
    std::erase_if(lists, [](const std::vector<int64_t>& group) { return group.empty(); });
    if (lists.empty()) {  // all of them
      const int64_t count = numbers == Numbers::kPartitions ? partitions
                            : numbers == Numbers::kDevices  ? replicas_ * partitions
                                                            : replicas_;
      lists.emplace_back();
      for (int64_t i = 0; i < count; ++i) lists.back().push_back(i);
    }
    lists = to_devices(lists, numbers, replicas_, partitions);
  }
  if (auto axes = axes_of_groups(groups.explicit_groups, module_.mesh)) {
    groups.axes = std::move(*axes);
    groups.explicit_groups.clear();
  }
  return groups;
}

// Whole axes by their names, as bytecode has those of a manual computation.
AxisList ModuleBuilder::named_axes(const AttributeReader& from, const Attribute& list,
                                   const Mesh& mesh) {
  AxisList axes;
  for (const Attribute& element : list.elements) {
    const auto found =
        element.kind == Kind::kString ? mesh.find_axis(element.string) : std::nullopt;
    if (!found) from.fail(list, "manual_axes", "axes of " + mesh.to_string());
    axes.push_back({*found, 1, 0});
  }
  return to_module_axes(axes, mesh, list.position);
}

Attrs ModuleBuilder::collective_attributes(const GenericOp& op, OpId id,
                                           const AttributeReader& from) {
  const auto axes = [&](std::string_view name) {
    const Attribute& attribute = from.get(name);
    if (attribute.kind == Kind::kDict) return parse_mesh_axes(from, attribute);
    if (attribute.kind == Kind::kArray) {
      return named_axes(from, attribute, manual_mesh(op.attributes));
    }
    if (attribute.kind != Kind::kShardings || attribute.shardings.size() != 1) {
      from.fail(attribute, name, "mesh axes");
    }
    const NamedSharding& carrier = attribute.shardings[0];
    return to_module_axes(carrier.sharding.manual, carrier.mesh, attribute.position);
  };
  const auto shardings = [&](std::string_view name) {
    const Attribute& attribute = from.get(name);
    if (attribute.kind != Kind::kShardings) from.fail(attribute, name, "[<@mesh, ...>]");
    std::vector<Sharding> list;
    for (const NamedSharding& sharding : attribute.shardings) {
      list.push_back(*to_module_mesh(sharding, sharding.sharding.rank(), attribute.position));
    }
    return list;
  };
  switch (op.code) {
    case OpCode::kAllGather:
      return AllGatherAttrs{from.integer("all_gather_dim"), parse_groups(from, op.code)};
    case OpCode::kAllReduce:
      return AllReduceAttrs{parse_groups(from, op.code)};
    case OpCode::kReduceScatter:
      return ReduceScatterAttrs{from.integer("scatter_dimension"), parse_groups(from, op.code)};
    case OpCode::kAllToAll:
      return AllToAllAttrs{from.integer("split_dimension"), from.integer("concat_dimension"),
                           parse_groups(from, op.code)};
    case OpCode::kPropagationBarrier: {
      const std::string_view names = "NONE, FORWARD, BACKWARD or BOTH";
      const Attribute& direction = from.get("allowed_direction");
      if (direction.kind == Kind::kInteger && direction.integer >= 0 && direction.integer <= 3) {
        return PropagationBarrierAttrs{static_cast<PropagationDirection>(direction.integer)};
      }
      const auto named = enum_named<PropagationDirection>(from.enumerator(direction, names));
      if (!named) from.fail(direction, "allowed_direction", names);
      return PropagationBarrierAttrs{*named};
    }
    case OpCode::kShardingGroup:
      return ShardingGroupAttrs{from.integer("group_id")};
    case OpCode::kAxisIndex:
      return AxisIndexAttrs{axes("axes")};
    case OpCode::kManualComputation:
      return ManualComputationAttrs{shardings("in_shardings"), shardings("out_shardings"),
                                    axes("manual_axes")};
    case OpCode::kReshard:
    case OpCode::kShardingConstraint: {
      const ValueIds& operands = fn_->op(id).operands;
      if (operands.size() != 1) from.fail("expected one operand");
      return ReshardAttrs{required_sharding(op, fn_->type(operands[0]).rank())};
    }
    case OpCode::kCollectivePermute: {
      CollectivePermuteAttrs attrs;
      if (from.find("spmd.axes") != nullptr) attrs.axes = axes("spmd.axes");
      const Attribute& pairs = from.get("source_target_pairs");
      for (const auto& pair : rows_of(from, pairs, "source_target_pairs")) {
        if (pair.size() != 2) from.fail(pairs, "source_target_pairs", "pairs of devices");
        attrs.source_target_pairs.emplace_back(pair[0], pair[1]);
      }
      if (replicas_ > 1 && attrs.axes.empty()) {
        attrs.source_target_pairs =
            to_device_pairs(attrs.source_target_pairs, numbers_of(from, false), replicas_,
                            module_.mesh.num_devices() / replicas_);
      }
      return attrs;
    }
    default:
      return NoAttrs{};
  }
}

}  // namespace spmd::text
