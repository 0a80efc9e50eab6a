#include "tests/collectives/planning/simulate.h"

#include <map>

#include "support/error.h"

namespace spmd::testing {

namespace {

using Kind = ReshardStep::Kind;

struct Extents {
  int64_t outer = 1, size = 1, inner = 1;
};

Extents around(const std::vector<int64_t>& shape, size_t dim) {
  Extents extents;
  for (size_t i = 0; i < shape.size(); ++i) {
    (i < dim ? extents.outer : i == dim ? extents.size : extents.inner) *= shape[i];
  }
  return extents;
}

Block part(const Block& block, size_t dim, int64_t index, int64_t count) {
  const Extents e = around(block.shape, dim);
  SPMD_CHECK(e.size % count == 0);
  const int64_t size = e.size / count;
  Block result{block.shape, {}};
  result.shape[dim] = size;
  for (int64_t o = 0; o < e.outer; ++o) {
    const auto first = block.data.begin() + (o * e.size + index * size) * e.inner;
    result.data.insert(result.data.end(), first, first + size * e.inner);
  }
  return result;
}

Block concatenate(const Blocks& blocks, size_t dim) {
  const Extents e = around(blocks[0].shape, dim);
  Block result{blocks[0].shape, {}};
  result.shape[dim] *= static_cast<int64_t>(blocks.size());
  for (int64_t o = 0; o < e.outer; ++o) {
    for (const Block& block : blocks) {
      const auto first = block.data.begin() + o * e.size * e.inner;
      result.data.insert(result.data.end(), first, first + e.size * e.inner);
    }
  }
  return result;
}

Block sum(const Blocks& blocks) {
  Block result = blocks[0];
  for (size_t b = 1; b < blocks.size(); ++b) {
    for (size_t i = 0; i < result.data.size(); ++i) result.data[i] += blocks[b].data[i];
  }
  return result;
}

Block block_of(const Block& global, const Sharding& sharding, int64_t device, const Mesh& mesh) {
  const std::vector<int64_t> coordinates = mesh.coordinates_of(device);
  Block block = global;
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    const AxisList& axes = sharding.dims[d].axes;
    block = part(block, d, index_along(axes, coordinates, mesh), axes_size(axes, mesh));
  }
  return block;
}

// Which block, and which partial value of it, a device holds.
std::vector<int64_t> identity(const Sharding& sharding, const AxisList& unreduced, int64_t device,
                              const Mesh& mesh) {
  const std::vector<int64_t> coordinates = mesh.coordinates_of(device);
  std::vector<int64_t> id = {index_along(unreduced, coordinates, mesh)};
  for (const DimSharding& dim : sharding.dims) {
    id.push_back(index_along(dim.axes, coordinates, mesh));
  }
  return id;
}

// Pairs senders of a block with its receivers, each device at most once.
Blocks permute(const Blocks& blocks, const Sharding& from, const Sharding& to, const Mesh& mesh) {
  std::map<std::vector<int64_t>, std::vector<size_t>> senders;
  for (size_t d = 0; d < blocks.size(); ++d) {
    senders[identity(from, to.unreduced, static_cast<int64_t>(d), mesh)].push_back(d);
  }
  Blocks result(blocks.size());
  for (size_t d = 0; d < blocks.size(); ++d) {
    auto& candidates = senders[identity(to, to.unreduced, static_cast<int64_t>(d), mesh)];
    SPMD_CHECK(!candidates.empty());
    result[d] = blocks[candidates.back()];
    candidates.pop_back();
  }
  return result;
}

Block step_result(const ReshardStep& step, const Blocks& blocks, int64_t device, const Mesh& mesh) {
  Blocks group;
  for (int64_t member : group_of(device, step.axes, mesh)) {
    group.push_back(blocks[static_cast<size_t>(member)]);
  }
  const int64_t index = index_along(step.axes, mesh.coordinates_of(device), mesh);
  const int64_t count = static_cast<int64_t>(group.size());
  const size_t dim = static_cast<size_t>(step.dim);
  const Block& own = blocks[static_cast<size_t>(device)];
  switch (step.kind) {
    case Kind::kAllGather:
      return concatenate(group, dim);
    case Kind::kSlice:
      return part(own, dim, index, count);
    case Kind::kAllReduce:
      return sum(group);
    case Kind::kReduceScatter:
      return part(sum(group), dim, index, count);
    case Kind::kAllToAll: {
      Blocks parts;
      for (const Block& member : group) {
        parts.push_back(part(member, static_cast<size_t>(step.to_dim), index, count));
      }
      return concatenate(parts, dim);
    }
    case Kind::kMakePartial: {
      Block partial = own;
      if (index != 0) partial.data.assign(partial.data.size(), 0);
      return partial;
    }
    case Kind::kPermute:
      break;
  }
  SPMD_UNREACHABLE("permute");
}

}  // namespace

Block numbered(std::vector<int64_t> shape) {
  Block block{std::move(shape), {}};
  int64_t size = 1;
  for (int64_t extent : block.shape) size *= extent;
  for (int64_t i = 0; i < size; ++i) block.data.push_back(i + 1);
  return block;
}

Blocks distribute(const Block& global, const Sharding& sharding, const Mesh& mesh) {
  Blocks blocks;
  const int64_t partials = axes_size(sharding.unreduced, mesh);
  for (int64_t device = 0; device < mesh.num_devices(); ++device) {
    Block block = block_of(global, sharding, device, mesh);
    const int64_t index = index_along(sharding.unreduced, mesh.coordinates_of(device), mesh);
    for (int64_t& value : block.data) {
      const auto share = [&](int64_t k) { return value * (7 * k + 3) % 1001; };
      int64_t rest = value;
      for (int64_t k = 1; k < partials; ++k) rest -= share(k);
      value = index == 0 ? rest : share(index);
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

Blocks execute(const ReshardPlan& plan, const Sharding& from, Blocks blocks, const Mesh& mesh) {
  Sharding placement = from;
  for (const ReshardStep& step : plan.steps) {
    if (step.kind == Kind::kPermute) {
      blocks = permute(blocks, placement, step.result, mesh);
    } else {
      Blocks next;
      for (int64_t device = 0; device < mesh.num_devices(); ++device) {
        next.push_back(step_result(step, blocks, device, mesh));
      }
      blocks = std::move(next);
    }
    placement = step.result;
  }
  return blocks;
}

bool holds(const Blocks& blocks, const Block& global, const Sharding& sharding, const Mesh& mesh) {
  for (int64_t device = 0; device < mesh.num_devices(); ++device) {
    Blocks group;
    for (int64_t member : group_of(device, sharding.unreduced, mesh)) {
      group.push_back(blocks[static_cast<size_t>(member)]);
    }
    if (sum(group) != block_of(global, sharding, device, mesh)) return false;
  }
  return true;
}

}  // namespace spmd::testing
