#include "runtime/placement.h"

#include <algorithm>
#include <cstring>

namespace spmd {

void for_each_row(const plan::Placement& placement, const LocalBlock& block,
                  const RowVisitor& visit) {
  const size_t rank = block.size.size();
  if (std::find(block.size.begin(), block.size.end(), 0) != block.size.end()) return;
  if (rank == 0) return visit(int64_t{0}, int64_t{0}, int64_t{1});
  std::vector<int64_t> index(rank, 0);
  while (true) {
    int64_t global = 0, local = 0;
    for (size_t d = 0; d < rank; ++d) {
      const auto i = static_cast<int>(d);
      global = global * placement.global_shape(i) + block.start[d] + index[d];
      local = local * placement.local_shape(i) + index[d];
    }
    visit(global, local, block.size[rank - 1]);
    size_t d = rank - 1;
    while (d-- > 0) {
      if (++index[d] < block.size[d]) break;
      index[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

Mesh mesh_of(const plan::Plan& plan) {
  std::vector<MeshAxis> axes;
  for (const plan::MeshAxis& axis : plan.mesh()) axes.push_back({axis.name(), axis.size()});
  return Mesh(std::move(axes), {plan.device_ids().begin(), plan.device_ids().end()});
}

AxisList axes_of(const plan::AxisList& list) {
  AxisList axes;
  for (const plan::AxisRef& axis : list.axes()) {
    const bool full = axis.size() == 0;
    axes.push_back({axis.axis(), full ? 1 : axis.pre(), axis.size()});
  }
  return axes;
}

LocalBlock block_of(const plan::Placement& placement, const Mesh& mesh, int64_t device) {
  const std::vector<int64_t> coordinates = mesh.coordinates_of(device);
  LocalBlock block;
  for (int d = 0; d < placement.global_shape_size(); ++d) {
    const AxisList axes = d < placement.axes_size() ? axes_of(placement.axes(d)) : AxisList{};
    const int64_t local = placement.local_shape(d);
    const int64_t start = index_along(axes, coordinates, mesh) * local;
    block.start.push_back(start);
    block.size.push_back(std::clamp<int64_t>(placement.global_shape(d) - start, 0, local));
  }
  return block;
}

void cut_block(const plan::Placement& placement, const LocalBlock& block, const std::byte* global,
               std::byte* local) {
  const int64_t bytes = plan::byte_size(placement.dtype());
  for_each_row(placement, block, [&](int64_t from, int64_t to, int64_t count) {
    std::memcpy(local + to * bytes, global + from * bytes, static_cast<size_t>(count * bytes));
  });
}

void paste_block(const plan::Placement& placement, const LocalBlock& block, const std::byte* local,
                 std::byte* global) {
  const int64_t bytes = plan::byte_size(placement.dtype());
  for_each_row(placement, block, [&](int64_t to, int64_t from, int64_t count) {
    std::memcpy(global + to * bytes, local + from * bytes, static_cast<size_t>(count * bytes));
  });
}

AxisList cutting_axes(const plan::Placement& placement) {
  AxisList axes;
  for (const plan::AxisList& list : placement.axes()) {
    const AxisList more = axes_of(list);
    axes.insert(axes.end(), more.begin(), more.end());
  }
  return axes;
}

}  // namespace spmd
