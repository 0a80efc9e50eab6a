#include "passes/partition/shards.h"

#include <algorithm>

#include "ir/evaluator.h"
#include "support/error.h"

namespace spmd {
namespace {

// Calls visit(global byte offset, local byte offset, bytes) for every run of the innermost
// dimension that lies inside the global shape.
template <typename Visit>
void for_each_run(const Dims& global, const Dims& local, const Dims& start, int64_t element,
                  Visit&& visit) {
  const size_t rank = global.size();
  if (rank == 0) return visit(0, 0, element);
  Dims extent(rank);
  for (size_t d = 0; d < rank; ++d) {
    extent[d] = std::clamp<int64_t>(global[d] - start[d], 0, local[d]);
    if (extent[d] == 0) return;
  }
  const Dims global_strides = row_major_strides(global), local_strides = row_major_strides(local);
  Dims index(rank, 0);
  while (true) {
    int64_t from = 0, to = 0;
    for (size_t d = 0; d < rank; ++d) {
      from += (start[d] + index[d]) * global_strides[d];
      to += index[d] * local_strides[d];
    }
    visit(from * element, to * element, extent[rank - 1] * element);
    size_t d = rank - 1;
    while (d-- > 0) {
      if (++index[d] < extent[d]) break;
      index[d] = 0;
    }
    if (d == SIZE_MAX) return;
  }
}

Dims block_start(const Sharding& sharding, const Dims& local, int64_t device, const Mesh& mesh) {
  const std::vector<int64_t> coordinates = mesh.coordinates_of(device);
  Dims start(local.size());
  for (size_t d = 0; d < local.size(); ++d) {
    start[d] = index_along(sharding.dims[d].axes, coordinates, mesh) * local[d];
  }
  return start;
}

}  // namespace

Literal local_part(const Literal& global, const Sharding& sharding, const TensorType& local,
                   int64_t device, const Mesh& mesh) {
  const Literal whole = global.expanded();
  Literal part(local);
  std::byte* to = part.mutable_data();
  for_each_run(whole.type().shape, local.shape, block_start(sharding, local.shape, device, mesh),
               byte_size(local.dtype), [&](int64_t from_at, int64_t to_at, int64_t bytes) {
                 std::memcpy(to + to_at, whole.data() + from_at, static_cast<size_t>(bytes));
               });
  return part;
}

Literal from_parts(std::span<const Literal> parts, const Sharding& sharding,
                   const Dims& global_shape, const Mesh& mesh) {
  const TensorType local = parts[0].type();
  Literal whole(local.with_shape(global_shape));
  std::byte* to = whole.mutable_data();
  std::vector<bool> written(whole.stored_bytes(), false);
  for (size_t device = 0; device < parts.size(); ++device) {
    const Literal part = parts[device].expanded();
    const Dims start = block_start(sharding, local.shape, static_cast<int64_t>(device), mesh);
    for_each_run(global_shape, local.shape, start, byte_size(local.dtype),
                 [&](int64_t to_at, int64_t from_at, int64_t bytes) {
                   if (bytes == 0) return;
                   const std::byte* from = part.data() + from_at;
                   if (written[static_cast<size_t>(to_at)]) {
                     SPMD_CHECK(std::memcmp(to + to_at, from, static_cast<size_t>(bytes)) == 0,
                                "device {} holds another value of a shared block of {}", device,
                                to_string(whole.type()));
                   }
                   std::memcpy(to + to_at, from, static_cast<size_t>(bytes));
                   std::fill_n(written.begin() + to_at, bytes, true);
                 });
  }
  return whole;
}

std::vector<Literal> evaluate_partitioned(const Module& module,
                                          std::span<const Literal> arguments) {
  const Function& fn = module.main();
  const auto devices = static_cast<size_t>(module.mesh.num_devices());
  const auto sharding_or_replicated = [](const ShardingRef& sharding, int64_t rank) {
    return sharding ? *sharding : Sharding::replicate(rank);
  };
  std::vector<std::vector<Literal>> local_arguments(devices);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Value& value = fn.value(fn.arguments()[i]);
    const Sharding sharding = sharding_or_replicated(value.sharding, value.type.rank());
    for (size_t device = 0; device < devices; ++device) {
      local_arguments[device].push_back(local_part(arguments[i], sharding, value.type,
                                                   static_cast<int64_t>(device), module.mesh));
    }
  }
  const std::vector<std::vector<Literal>> local_results = evaluate_ranks(module, local_arguments);
  std::vector<Literal> results;
  for (size_t i = 0; i < fn.results().size(); ++i) {
    std::vector<Literal> parts;
    for (const auto& rank : local_results) parts.push_back(rank[i]);
    const TensorType& type = fn.type(fn.results()[i]);
    results.push_back(from_parts(parts,
                                 sharding_or_replicated(fn.result_info[i].sharding, type.rank()),
                                 fn.result_info[i].global_shape.value_or(type.shape), module.mesh));
  }
  return results;
}

}  // namespace spmd
