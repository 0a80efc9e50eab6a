#include "sharding/spec/mesh.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_set>

#include "sharding/spec/mesh_limit.h"
#include "sharding/spec/prime_factors.h"
#include "support/error.h"

namespace spmd {

Mesh::Mesh(std::vector<MeshAxis> axes, std::vector<int64_t> device_ids)
    : axes_(std::move(axes)), device_ids_(std::move(device_ids)) {
  std::unordered_set<std::string> names;
  for (const MeshAxis& axis : axes_) {
    if (axis.size < 1) {
      throw UserError("mesh", fmt::format("axis \"{}\" has size {}, expected at least 1", axis.name,
                                          axis.size));
    }
    if (!names.insert(axis.name).second) {
      throw UserError("mesh", fmt::format("axis \"{}\" occurs twice", axis.name));
    }
    if (num_devices_ > kMostDevices / axis.size) {
      throw UserError("mesh", fmt::format("more than {} devices", kMostDevices),
                      "choose smaller sizes");
    }
    num_devices_ *= axis.size;
  }
  if (device_ids_.empty()) return;
  if (static_cast<int64_t>(device_ids_.size()) != num_devices_) {
    throw UserError("mesh",
                    fmt::format("{} device ids for a mesh of {} device{}", device_ids_.size(),
                                num_devices_, num_devices_ == 1 ? "" : "s"));
  }
  if (axes_.empty()) {
    if (device_ids_[0] < 0)
      throw UserError("mesh", fmt::format("device {}, expected 0 or more", device_ids_[0]));
    return;
  }
  position_of_device_.assign(device_ids_.size(), -1);
  bool natural = true;
  for (size_t i = 0; i < device_ids_.size(); ++i) {
    const int64_t id = device_ids_[i];
    if (id < 0 || id >= num_devices_ || position_of_device_[static_cast<size_t>(id)] != -1) {
      throw UserError("mesh", fmt::format("device ids are not a permutation of 0..{}: {}",
                                          num_devices_ - 1, id));
    }
    position_of_device_[static_cast<size_t>(id)] = static_cast<int64_t>(i);
    natural = natural && id == static_cast<int64_t>(i);
  }
  if (natural) {
    device_ids_.clear();
    position_of_device_.clear();
  }
}

std::vector<int64_t> Mesh::factors(int axis) const {
  const auto at = static_cast<size_t>(axis);
  if (at < factors_.size() && !factors_[at].empty()) return factors_[at];
  return prime_factors(axes_[at].size);
}

void Mesh::set_factors(int axis, std::vector<int64_t> factors) {
  std::vector<int64_t> sorted = factors, known = this->factors(axis);
  std::sort(sorted.begin(), sorted.end());
  std::sort(known.begin(), known.end());
  SPMD_CHECK(sorted == known, "other factors of axis {}", axis);
  factors_.resize(axes_.size());
  factors_[static_cast<size_t>(axis)] = std::move(factors);
}

std::optional<int> Mesh::find_axis(std::string_view name) const {
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

int64_t Mesh::device_at(const std::vector<int64_t>& coordinates) const {
  int64_t position = 0;
  for (size_t i = 0; i < axes_.size(); ++i) position = position * axes_[i].size + coordinates[i];
  return device_ids_.empty() ? position : device_ids_[static_cast<size_t>(position)];
}

std::vector<int64_t> Mesh::coordinates_of(int64_t device) const {
  int64_t position =
      position_of_device_.empty() ? device : position_of_device_[static_cast<size_t>(device)];
  std::vector<int64_t> coordinates(axes_.size());
  for (size_t i = axes_.size(); i-- > 0;) {
    coordinates[i] = position % axes_[i].size;
    position /= axes_[i].size;
  }
  return coordinates;
}

std::string Mesh::to_string() const {
  std::string text;
  for (const MeshAxis& axis : axes_) {
    if (!text.empty()) text += ",";
    text += fmt::format("{}={}", axis.name, axis.size);
  }
  return text;
}

Mesh parse_mesh(std::string_view text) {
  std::vector<MeshAxis> axes;
  const auto fail = [&](std::string_view found) {
    throw UserError("--mesh", fmt::format("found \"{}\", expected NAME=SIZE", found),
                    "write axes major to minor, for example: data=2,model=4");
  };
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) fail(part);
    MeshAxis axis;
    axis.name = std::string(part.substr(0, equals));
    const std::string_view digits = part.substr(equals + 1);
    const auto [rest, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), axis.size);
    if (error != std::errc() || rest != digits.data() + digits.size()) fail(part);
    axes.push_back(std::move(axis));
    begin = end + 1;
  }
  return Mesh(std::move(axes));
}

}  // namespace spmd
