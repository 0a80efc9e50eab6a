// AxisRef: a mesh axis, or a factor of one.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "sharding/spec/mesh.h"

namespace spmd {

// A full mesh axis (`size == 0`), or the sub-axis "name":(pre)size: the axis is read as
// [pre, size, rest] major to minor and this is the middle factor. Full axes carry no size, so that
// a sharding stays valid when the mesh is given other sizes.
struct AxisRef {
  int axis = 0;
  int64_t pre = 1;
  int64_t size = 0;

  bool is_full() const { return size == 0; }
  int64_t size_in(const Mesh& mesh) const { return is_full() ? mesh.axis_size(axis) : size; }
  auto operator<=>(const AxisRef&) const = default;
};

// Whether an axis of `full` devices can be read as [pre, size, rest].
inline bool is_factor(int64_t pre, int64_t size, int64_t full) {
  return pre >= 1 && size >= 1 && full % pre == 0 && full / pre % size == 0;
}

// Major to minor.
using AxisList = std::vector<AxisRef>;

// Product of the sizes.
int64_t axes_size(const AxisList& axes, const Mesh& mesh);

// Splits every axis into its prime factors (Mesh::factors), major to minor: x=12 becomes x:(1)2,
// x:(2)2, x:(4)3. A prime axis stays a full axis. Two atoms are equal or disjoint, which makes the
// algebra on lists of atoms plain list algebra. Parts of axes are made of whole atoms
// (check_axes_of_atoms() in sharding.h).
AxisList to_atoms(const AxisList& axes, const Mesh& mesh);

// The inverse: joins neighbours that are consecutive factors of one axis.
AxisList from_atoms(const AxisList& atoms, const Mesh& mesh);

// All atoms of a mesh, in mesh order.
AxisList mesh_atoms(const Mesh& mesh);

bool overlaps(const AxisRef& a, const AxisRef& b, const Mesh& mesh);

// Row-major index of a device along `axes` (major to minor), from its mesh coordinates.
int64_t index_along(const AxisList& axes, const std::vector<int64_t>& coordinates,
                    const Mesh& mesh);

// "\"x\":(2)4"
std::string to_string(const AxisRef& axis, const Mesh& mesh);

// Device groups along `axes`: one group per combination of the other axes, its members ordered by
// their index along `axes`. Groups are ordered by their first member.
std::vector<std::vector<int64_t>> device_groups(const AxisList& axes, const Mesh& mesh);

// The members, ordered by index along `axes`, of the group that `device` is in. Costs no more than
// the group.
std::vector<int64_t> group_of(int64_t device, const AxisList& axes, const Mesh& mesh);

}  // namespace spmd
