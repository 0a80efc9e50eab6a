#include <algorithm>

#include "ir/verify/families.h"

namespace spmd::verifier {
namespace {

void require_device(const OpView& v, int64_t device, int64_t count) {
  v.require(device >= 0 && device < count, "device {} takes part, expected 0 to {}", device,
            count - 1);
}

// Devices exist, and none is in two groups.
void require_groups(const OpView& v, const CollectiveGroups& groups) {
  check_axes_of_atoms(groups.axes, v.module.mesh, v.place());
  std::vector<int64_t> devices;
  for (const std::vector<int64_t>& group : groups.explicit_groups) {
    v.require(!group.empty(), "a group has no devices");
    devices.insert(devices.end(), group.begin(), group.end());
  }
  std::sort(devices.begin(), devices.end());
  for (size_t i = 0; i < devices.size(); ++i) {
    require_device(v, devices[i], v.module.mesh.num_devices());
    v.require(i == 0 || devices[i] != devices[i - 1], "device {} is in two groups, expected one",
              devices[i]);
  }
}

// The members of each group, which must be as many in all.
int64_t group_size(const OpView& v, const CollectiveGroups& groups) {
  require_groups(v, groups);
  if (!groups.is_explicit()) return axes_size(groups.axes, v.module.mesh);
  const size_t size = groups.explicit_groups[0].size();
  for (const std::vector<int64_t>& group : groups.explicit_groups) {
    v.require(group.size() == size, "groups have {} and {} devices, expected equal sizes", size,
              group.size());
  }
  return static_cast<int64_t>(size);
}

void require_dimension(const OpView& v, int64_t dim, const TensorType& type) {
  v.require(dim >= 0 && dim < type.rank(), "dimension {} is out of range for {}", dim, type);
}

// A dimension of `type` cut into `parts`.
void divide(const OpView& v, TensorType& type, int64_t dim, int64_t parts) {
  require_dimension(v, dim, type);
  int64_t& size = type.shape[static_cast<size_t>(dim)];
  v.require(size % parts == 0, "dimension {} of {} does not divide into the {} of a group", dim,
            type, parts);
  size /= parts;
}

void multiply(const OpView& v, TensorType& type, int64_t dim, int64_t parts) {
  require_dimension(v, dim, type);
  int64_t& size = type.shape[static_cast<size_t>(dim)];
  v.require(size <= kMaxTensorBytes / parts, "gathers {} from {}, more than any memory", type,
            parts);
  size *= parts;
}

// Every operand has a result, of the type that `change` makes of its own.
template <typename Change>
void require_results(const OpView& v, Change&& change) {
  v.require_counts(v.op.operands.size(), v.op.operands.size());
  v.require(!v.op.operands.empty(), "has no operands, expected at least one");
  for (size_t i = 0; i < v.op.operands.size(); ++i) {
    TensorType expected = v.operand(i);
    change(expected);
    v.require_type(fmt::format("result {}", i), v.result(i), expected);
  }
}

// One region for all operands, which therefore have one element type.
void require_one_reducer(const OpView& v) {
  const DType dtype = v.operand(0).dtype;
  for (size_t i = 1; i < v.op.operands.size(); ++i) {
    v.require(v.operand(i).dtype == dtype, "reduces {} and {}, expected one element type", dtype,
              v.operand(i).dtype);
  }
  v.require_reducer(0, {dtype});
}

void verify_all_gather(const OpView& v) {
  const auto& attrs = v.op.as<AllGatherAttrs>();
  const int64_t size = group_size(v, attrs.groups);
  require_results(v, [&](TensorType& type) { multiply(v, type, attrs.dim, size); });
}

void verify_all_reduce(const OpView& v) {
  require_groups(v, v.op.as<AllReduceAttrs>().groups);
  require_results(v, [](TensorType&) {});
  require_one_reducer(v);
}

void verify_all_to_all(const OpView& v) {
  const auto& attrs = v.op.as<AllToAllAttrs>();
  const int64_t size = group_size(v, attrs.groups);
  require_results(v, [&](TensorType& type) {
    divide(v, type, attrs.split_dim, size);
    multiply(v, type, attrs.concat_dim, size);
  });
}

void verify_reduce_scatter(const OpView& v) {
  const auto& attrs = v.op.as<ReduceScatterAttrs>();
  const int64_t size = group_size(v, attrs.groups);
  require_results(v, [&](TensorType& type) { divide(v, type, attrs.dim, size); });
  require_one_reducer(v);
}

void verify_collective_permute(const OpView& v) {
  const auto& attrs = v.op.as<CollectivePermuteAttrs>();
  const Mesh& mesh = v.module.mesh;
  check_axes_of_atoms(attrs.axes, mesh, v.place());
  const int64_t members = attrs.axes.empty() ? mesh.num_devices() : axes_size(attrs.axes, mesh);
  for (const RankPairs::Run& run : attrs.source_target_pairs.runs()) {
    for (const auto& [source, target] : {run.pair(0), run.last()}) {
      require_device(v, source, members);
      require_device(v, target, members);
    }
  }
  const auto require_once = [&](std::optional<int64_t> twice, const char* what) {
    if (twice) v.fail(fmt::format("device {} {} twice, expected once", *twice, what));
  };
  require_once(attrs.source_target_pairs.repeated_source(), "sends");
  require_once(attrs.source_target_pairs.repeated_target(), "receives");
  require_results(v, [](TensorType&) {});
}

void verify_placement(const OpView& v) {
  v.require_counts(1, 1);
  check_sharding_of_atoms(v.op.as<ReshardAttrs>().sharding, v.operand(0).rank(), v.module.mesh,
                          v.place());
}

int64_t manual_shards(const AxisList& axes, const AxisList& manual_atoms, const Mesh& mesh) {
  int64_t shards = 1;
  for (const AxisRef& atom : to_atoms(axes, mesh)) {
    const bool manual =
        std::find(manual_atoms.begin(), manual_atoms.end(), atom) != manual_atoms.end();
    if (manual) shards *= atom.size_in(mesh);
  }
  return shards;
}

// Inside, a dimension is as long as its shards along the manual axes.
void verify_manual_type(const OpView& v, const TensorType& outer, const TensorType& inner,
                        const Sharding& sharding, const AxisList& manual_atoms) {
  const Mesh& mesh = v.module.mesh;
  check_sharding_of_atoms(sharding, outer.rank(), mesh, v.place());
  TensorType expected = outer;
  for (size_t d = 0; d < expected.shape.size(); ++d) {
    const int64_t shards = manual_shards(sharding.dims[d].axes, manual_atoms, mesh);
    v.require(expected.shape[d] % shards == 0,
              "dimension {} of {} does not divide into {} manual shards", d, outer, shards);
    expected.shape[d] /= shards;
  }
  v.require(inner == expected, "{} is {} inside, expected {}", outer, inner, expected);
}

void verify_manual_computation(const OpView& v) {
  const auto& attrs = v.op.as<ManualComputationAttrs>();
  const std::vector<ValueId>& args = v.fn.block(v.op.regions[0]).args;
  const ValueIds& returned = v.fn.op(v.fn.terminator(v.op.regions[0])).operands;
  check_axes_of_atoms(attrs.manual_axes, v.module.mesh, v.place());
  const AxisList manual_atoms = to_atoms(attrs.manual_axes, v.module.mesh);
  v.require(attrs.in_shardings.size() == v.op.operands.size(),
            "has {} shardings of operands, expected {}", attrs.in_shardings.size(),
            v.op.operands.size());
  v.require(attrs.out_shardings.size() == v.op.results.size(),
            "has {} shardings of results, expected {}", attrs.out_shardings.size(),
            v.op.results.size());
  v.require(args.size() == v.op.operands.size(), "the region takes {} values, expected {}",
            args.size(), v.op.operands.size());
  v.require(returned.size() == v.op.results.size(), "the region returns {} values, expected {}",
            returned.size(), v.op.results.size());
  for (size_t i = 0; i < args.size(); ++i) {
    verify_manual_type(v, v.operand(i), v.fn.type(args[i]), attrs.in_shardings[i], manual_atoms);
  }
  for (size_t i = 0; i < returned.size(); ++i) {
    verify_manual_type(v, v.result(i), v.fn.type(returned[i]), attrs.out_shardings[i],
                       manual_atoms);
  }
}

}  // namespace

void verify_collective(const OpView& v) {
  switch (v.op.code) {
    case OpCode::kAllGather:
      return verify_all_gather(v);
    case OpCode::kAllReduce:
      return verify_all_reduce(v);
    case OpCode::kAllToAll:
      return verify_all_to_all(v);
    case OpCode::kReduceScatter:
      return verify_reduce_scatter(v);
    case OpCode::kCollectivePermute:
      return verify_collective_permute(v);
    case OpCode::kManualComputation:
      return verify_manual_computation(v);
    case OpCode::kReshard:
    case OpCode::kShardingConstraint:
      return verify_placement(v);
    case OpCode::kAxisIndex:
      v.require_counts(0, 1);
      return check_axes_of_atoms(v.op.as<AxisIndexAttrs>().axes, v.module.mesh, v.place());
    case OpCode::kPartitionId:
      return v.require_counts(0, 1);
    case OpCode::kPropagationBarrier:
      return v.require_counts(1, 1);
    case OpCode::kShardingGroup:
      return v.require_counts(1, 0);
    default:
      return;
  }
}

}  // namespace spmd::verifier
