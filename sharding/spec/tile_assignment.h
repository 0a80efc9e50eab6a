// Tile assignments (how XLA writes shardings: a grid of devices) in terms of named mesh axes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sharding/spec/sharding.h"

namespace spmd {

// What a trailing dimension of the grid means for the tensor.
enum class SubgroupType : uint8_t { kReplicated, kManual, kUnreduced };

// A grid of devices: one dimension per tensor dimension, then one per entry of `trailing`. Its
// devices in row-major order are `devices`; when that is empty, they are
// transpose(iota(N).reshape(iota_reshape), iota_transpose), where an empty `iota_transpose` is the
// identity and an empty `iota_reshape` is [N].
struct TileAssignment {
  std::vector<int64_t> dims;
  std::vector<int64_t> devices;
  std::vector<int64_t> iota_reshape, iota_transpose;
  std::vector<SubgroupType> trailing;
  bool operator==(const TileAssignment&) const = default;
};

// Grids larger than this are refused.
inline constexpr int64_t kMaxTileDevices = int64_t{1} << 20;

// Devices of the grid: the product of `dims`. Throws UserError, without a place, when the fields do
// not form a grid of distinct devices 0 ... N-1.
int64_t check_tiles(const TileAssignment& tiles);

// The devices in row-major grid order. `tiles` must have passed check_tiles.
std::vector<int64_t> devices_of(const TileAssignment& tiles);

// The sharding, closed in every dimension, that places a tensor of `rank` as `tiles` does. A grid
// of one device is fully replicated on any mesh. Throws UserError, without a place, when the grid
// is malformed or no axes or sub-axes of `mesh` realise it.
Sharding sharding_from_tiles(const TileAssignment& tiles, const Mesh& mesh, int64_t rank);

// The inverse: used axes in dimension order, then one trailing replicated, manual and unreduced
// dimension as needed.
TileAssignment tiles_from_sharding(const Sharding& sharding, const Mesh& mesh);

// A sharding over `from` as one over `to` that places data alike, of a tensor of `rank`. Over a
// mesh without axes (one device, or none in particular) it is replicated; over a maximal mesh it
// need not name the dimensions. Explicit replication is dropped when the meshes differ. Throws
// UserError, without a place, when no axes of `to` realise it.
Sharding sharding_on_mesh(const Sharding& sharding, const Mesh& from, const Mesh& to, int64_t rank);

// The coarsest mesh, with axes `axis_0`, `axis_1`, ... major to minor, on which every one of the
// grids has a sharding; `num_devices` 0 when nothing but the grids says it. Grids in which no
// natural device order serves decide the order of devices. Without grids it is one axis over all
// devices, or no axis for at most one. Throws UserError, without a place, when the grids do not
// agree.
Mesh mesh_from_tiles(std::span<const TileAssignment> tiles, int64_t num_devices);

// The mesh axes along which the device groups are exactly `groups`, in the order of their members;
// nullopt when there are none. {} stands for one group of all devices.
std::optional<AxisList> axes_of_groups(const std::vector<std::vector<int64_t>>& groups,
                                       const Mesh& mesh);

}  // namespace spmd
