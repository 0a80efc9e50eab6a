#include "sharding/spec/axis.h"

#include <algorithm>

#include "sharding/spec/prime_factors.h"
#include "support/error.h"

namespace spmd {

int64_t axes_size(const AxisList& axes, const Mesh& mesh) {
  int64_t size = 1;
  for (const AxisRef& axis : axes) size *= axis.size_in(mesh);
  return size;
}

namespace {

// The factors of a part: the axis' own, or, where the part cuts across those, smallest first.
std::vector<int64_t> factors_of(const AxisRef& part, const Mesh& mesh) {
  const int64_t size = part.size_in(mesh);
  std::vector<int64_t> factors;
  int64_t pre = 1;
  for (int64_t factor : mesh.factors(part.axis)) {
    if (pre >= part.pre && pre * factor <= part.pre * size) factors.push_back(factor);
    pre *= factor;
  }
  int64_t product = 1;
  for (int64_t factor : factors) product *= factor;
  return product == size ? factors : prime_factors(size);
}

void append_atoms(const AxisRef& ref, const Mesh& mesh, AxisList& atoms) {
  const int64_t full = mesh.axis_size(ref.axis);
  if (ref.size_in(mesh) == 1 && full == 1) atoms.push_back({ref.axis, 1, 0});
  int64_t pre = ref.pre;
  for (int64_t factor : factors_of(ref, mesh)) {
    const bool whole = pre == 1 && factor == full;
    atoms.push_back(whole ? AxisRef{ref.axis, 1, 0} : AxisRef{ref.axis, pre, factor});
    pre *= factor;
  }
}

}  // namespace

AxisList to_atoms(const AxisList& axes, const Mesh& mesh) {
  AxisList atoms;
  for (const AxisRef& axis : axes) append_atoms(axis, mesh, atoms);
  return atoms;
}

AxisList from_atoms(const AxisList& atoms, const Mesh& mesh) {
  AxisList axes;
  for (const AxisRef& atom : atoms) {
    if (!axes.empty() && !atom.is_full() && axes.back().axis == atom.axis &&
        !axes.back().is_full() && axes.back().pre * axes.back().size == atom.pre) {
      AxisRef& last = axes.back();
      last.size *= atom.size;
      if (last.pre == 1 && last.size == mesh.axis_size(last.axis)) last.size = 0;
      continue;
    }
    axes.push_back(atom);
  }
  return axes;
}

AxisList mesh_atoms(const Mesh& mesh) {
  AxisList axes;
  for (int i = 0; i < mesh.num_axes(); ++i) axes.push_back({i, 1, 0});
  return to_atoms(axes, mesh);
}

bool overlaps(const AxisRef& a, const AxisRef& b, const Mesh& mesh) {
  if (a.axis != b.axis) return false;
  const int64_t a_end = a.pre * a.size_in(mesh);
  const int64_t b_end = b.pre * b.size_in(mesh);
  if (a.is_full() || b.is_full()) return true;
  return std::max(a.pre, b.pre) < std::min(a_end, b_end);
}

namespace {

// The digit of `ref` in a coordinate of its axis.
int64_t digit(const AxisRef& ref, int64_t coordinate, const Mesh& mesh) {
  if (ref.is_full()) return coordinate;
  const int64_t below = mesh.axis_size(ref.axis) / (ref.pre * ref.size);
  return coordinate / below % ref.size;
}

void set_digit(const AxisRef& ref, int64_t value, std::vector<int64_t>& coordinates,
               const Mesh& mesh) {
  int64_t& coordinate = coordinates[static_cast<size_t>(ref.axis)];
  const int64_t below = ref.is_full() ? 1 : mesh.axis_size(ref.axis) / (ref.pre * ref.size);
  coordinate += (value - digit(ref, coordinate, mesh)) * below;
}

}  // namespace

int64_t index_along(const AxisList& axes, const std::vector<int64_t>& coordinates,
                    const Mesh& mesh) {
  int64_t index = 0;
  for (const AxisRef& ref : axes) {
    index =
        index * ref.size_in(mesh) + digit(ref, coordinates[static_cast<size_t>(ref.axis)], mesh);
  }
  return index;
}

std::string to_string(const AxisRef& axis, const Mesh& mesh) {
  const std::string& name = mesh.axes()[static_cast<size_t>(axis.axis)].name;
  if (axis.is_full()) return fmt::format("\"{}\"", name);
  return fmt::format("\"{}\":({}){}", name, axis.pre, axis.size);
}

std::vector<int64_t> group_of(int64_t device, const AxisList& axes, const Mesh& mesh) {
  std::vector<int64_t> coordinates = mesh.coordinates_of(device);
  const int64_t size = axes_size(axes, mesh);
  std::vector<int64_t> members(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    int64_t rest = i;
    for (size_t a = axes.size(); a-- > 0;) {
      const int64_t extent = axes[a].size_in(mesh);
      set_digit(axes[a], rest % extent, coordinates, mesh);
      rest /= extent;
    }
    members[static_cast<size_t>(i)] = mesh.device_at(coordinates);
  }
  return members;
}

std::vector<std::vector<int64_t>> device_groups(const AxisList& axes, const Mesh& mesh) {
  std::vector<std::vector<int64_t>> groups;
  std::vector<bool> seen(static_cast<size_t>(mesh.num_devices()), false);
  for (int64_t device = 0; device < mesh.num_devices(); ++device) {
    if (seen[static_cast<size_t>(device)]) continue;
    groups.push_back(group_of(device, axes, mesh));
    for (int64_t member : groups.back()) seen[static_cast<size_t>(member)] = true;
  }
  return groups;
}

}  // namespace spmd
