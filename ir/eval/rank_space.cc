#include "ir/eval/rank_space.h"

#include <algorithm>

#include "support/error.h"

namespace spmd::eval {

std::vector<int64_t> coordinates_along(int64_t index, const AxisList& axes, const Mesh& mesh) {
  std::vector<int64_t> coordinates(static_cast<size_t>(mesh.num_axes()), 0);
  for (size_t i = axes.size(); i > 0; --i) {
    const AxisRef& axis = axes[i - 1];
    const int64_t size = axis.size_in(mesh);
    const int64_t minor = axis.is_full() ? 1 : mesh.axis_size(axis.axis) / (axis.pre * size);
    coordinates[static_cast<size_t>(axis.axis)] += index % size * minor;
    index /= size;
  }
  return coordinates;
}

RankSpace RankSpace::all_devices(const Mesh& mesh) {
  RankSpace space;
  space.mesh_ = &mesh;
  space.all_devices_ = true;
  for (int a = 0; a < mesh.num_axes(); ++a) space.axes_.push_back({a, 1, 0});
  for (int64_t d = 0; d < mesh.num_devices(); ++d) space.device_of_rank_.push_back(d);
  return space;
}

RankSpace RankSpace::along(const Mesh& mesh, AxisList axes) {
  RankSpace space;
  space.mesh_ = &mesh;
  space.axes_ = std::move(axes);
  const int64_t size = axes_size(space.axes_, mesh);
  for (int64_t rank = 0; rank < size; ++rank) {
    space.device_of_rank_.push_back(mesh.device_at(coordinates_along(rank, space.axes_, mesh)));
  }
  return space;
}

int64_t RankSpace::rank_of(int64_t device, const std::string& place) const {
  if (device < 0 || device >= mesh_->num_devices()) {
    throw UserError(
        place, fmt::format("there is no device {}", device),
        fmt::format("the mesh {} has {} devices", mesh_->to_string(), mesh_->num_devices()));
  }
  if (all_devices_) return device;
  return index_along(axes_, mesh_->coordinates_of(device), *mesh_);
}

RankGroups RankSpace::groups(const CollectiveGroups& groups, const std::string& place) const {
  return groups.is_explicit() ? explicit_groups(groups.explicit_groups, place)
                              : groups_along(groups.axes, place);
}

RankGroups RankSpace::groups_along(const AxisList& axes, const std::string& place) const {
  const AxisList own = to_atoms(axes_, *mesh_);
  for (const AxisRef& atom : to_atoms(axes, *mesh_)) {
    if (std::find(own.begin(), own.end(), atom) != own.end()) continue;
    if (atom.size_in(*mesh_) == 1) continue;
    throw UserError(place, fmt::format("a collective over axis {}", spmd::to_string(atom, *mesh_)),
                    "on global values it has a meaning only inside a manual_computation over that "
                    "axis");
  }
  RankGroups result;
  std::vector<bool> seen(static_cast<size_t>(size()), false);
  for (int64_t rank = 0; rank < size(); ++rank) {
    if (seen[static_cast<size_t>(rank)]) continue;
    std::vector<int64_t> members;
    for (int64_t member : group_of(device(rank), axes, *mesh_)) {
      members.push_back(rank_of(member, place));
      seen[static_cast<size_t>(members.back())] = true;
    }
    result.push_back(std::move(members));
  }
  return result;
}

// Ranks that stand for several devices take part where their first device does.
RankGroups RankSpace::explicit_groups(const std::vector<std::vector<int64_t>>& devices,
                                      const std::string& place) const {
  RankGroups result;
  std::vector<int> seen(static_cast<size_t>(size()), 0);
  for (const std::vector<int64_t>& group : devices) {
    std::vector<int64_t> members;
    bool represents = false;
    for (int64_t device_number : group) {
      members.push_back(rank_of(device_number, place));
      represents = represents || device(members.back()) == device_number;
    }
    if (!represents) continue;
    for (int64_t member : members) ++seen[static_cast<size_t>(member)];
    result.push_back(std::move(members));
  }
  for (size_t rank = 0; rank < seen.size(); ++rank) {
    if (seen[rank] == 1) continue;
    throw UserError(place,
                    fmt::format("rank {} is in {} of the collective's groups", rank, seen[rank]),
                    "each rank belongs to exactly one");
  }
  return result;
}

}  // namespace spmd::eval
