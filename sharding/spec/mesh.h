// Mesh: the named axes over which a program's tensors are distributed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spmd {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis&) const = default;
};

// Axes are ordered major to minor: device number of coordinates (c0, c1, ...) is the row-major
// index, sent through `device_ids` when the order is not the natural one. An empty mesh has one
// device; a maximal one, which has no axes either, names it: a tensor on it is on that device
// alone.
class Mesh {
 public:
  Mesh() = default;
  // Throws UserError unless the axes are distinct and the devices a permutation, or one of 0 or
  // more without axes.
  explicit Mesh(std::vector<MeshAxis> axes, std::vector<int64_t> device_ids = {});

  bool is_maximal() const { return axes_.empty() && !device_ids_.empty(); }

  const std::vector<MeshAxis>& axes() const { return axes_; }
  int num_axes() const { return static_cast<int>(axes_.size()); }
  int64_t axis_size(int axis) const { return axes_[static_cast<size_t>(axis)].size; }
  int64_t num_devices() const { return num_devices_; }
  // Empty when devices are in natural order.
  const std::vector<int64_t>& device_ids() const { return device_ids_; }

  std::optional<int> find_axis(std::string_view name) const;

  // The prime factors of an axis, major to minor, which shardings may cut it into; none of an axis
  // of size 1. The smallest first, unless set_factors() was told another order (axis_factors.h).
  std::vector<int64_t> factors(int axis) const;
  // `factors`: the same numbers in the order to use.
  void set_factors(int axis, std::vector<int64_t> factors);

  // Device <-> mesh coordinates.
  int64_t device_at(const std::vector<int64_t>& coordinates) const;
  std::vector<int64_t> coordinates_of(int64_t device) const;

  // "data=2,model=4"
  std::string to_string() const;
  // Factors aside: they are how shardings are looked at, not where devices are.
  bool operator==(const Mesh& other) const {
    return axes_ == other.axes_ && device_ids_ == other.device_ids_;
  }

 private:
  std::vector<MeshAxis> axes_;
  std::vector<int64_t> device_ids_;
  std::vector<int64_t> position_of_device_;
  std::vector<std::vector<int64_t>> factors_;  // by axis; none for smallest first
  int64_t num_devices_ = 1;
};

// Parses "data=2,model=4". Throws UserError.
Mesh parse_mesh(std::string_view text);

}  // namespace spmd
