// RankSpace: the ranks that a piece of a program is evaluated on, and the devices they stand for.
#pragma once

#include <string>
#include <vector>

#include "ir/attrs.h"

namespace spmd::eval {

// Groups of ranks, each in the order in which its members take part.
using RankGroups = std::vector<std::vector<int64_t>>;

class RankSpace {
 public:
  // One rank per device, numbered as the devices.
  static RankSpace all_devices(const Mesh& mesh);
  // One rank per position along `axes`, which stands for all devices at that position; without axes
  // a single rank that stands for the whole mesh.
  static RankSpace along(const Mesh& mesh, AxisList axes);

  const Mesh& mesh() const { return *mesh_; }
  int64_t size() const { return static_cast<int64_t>(device_of_rank_.size()); }
  const AxisList& axes() const { return axes_; }
  // Of a rank that stands for several devices, the first.
  int64_t device(int64_t rank) const { return device_of_rank_[static_cast<size_t>(rank)]; }
  std::vector<int64_t> coordinates(int64_t rank) const {
    return mesh_->coordinates_of(device(rank));
  }

  // The groups that cover all ranks. Throw UserError(place) when ranks do not determine them:
  // an axis that ranks do not distinguish, a device that does not exist, a rank in no group or two.
  RankGroups groups(const CollectiveGroups& groups, const std::string& place) const;
  RankGroups groups_along(const AxisList& axes, const std::string& place) const;
  // The rank that stands for a device.
  int64_t rank_of(int64_t device, const std::string& place) const;

 private:
  RankGroups explicit_groups(const std::vector<std::vector<int64_t>>& devices,
                             const std::string& place) const;

  const Mesh* mesh_ = nullptr;
  bool all_devices_ = false;
  AxisList axes_;
  std::vector<int64_t> device_of_rank_;
};

// Device coordinates of position `index` along `axes`, zero elsewhere.
std::vector<int64_t> coordinates_along(int64_t index, const AxisList& axes, const Mesh& mesh);

}  // namespace spmd::eval
