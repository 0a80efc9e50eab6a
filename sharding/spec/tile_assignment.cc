#include "sharding/spec/tile_assignment.h"

#include <algorithm>
#include <numeric>

#include "sharding/spec/axis_factors.h"
#include "support/error.h"

// Everything here rests on one view: number the devices by position in some order, and read the
// grid as a map from row-major grid index to position. A grid that comes from axes is a *digit
// permutation*: the grid index, written in mixed radix, has the same digits as the position, only
// in another order. A digit is known by its stride (the position of digit value 1) and its size.

namespace spmd {
namespace {

struct Digit {
  int64_t stride, size;
};
// Digits major to minor, per grid dimension.
using Digits = std::vector<std::vector<Digit>>;

int64_t product(const std::vector<int64_t>& sizes) {
  int64_t total = 1;
  for (int64_t size : sizes) {
    if (size < 1) throw UserError("", fmt::format("a tile assignment has a size of {}", size));
    if (size > kMaxTileDevices / total) {
      throw UserError("",
                      fmt::format("a tile assignment of more than {} devices", kMaxTileDevices));
    }
    total *= size;
  }
  return total;
}

std::string join(const std::vector<int64_t>& values) {
  std::string text;
  for (int64_t value : values) text += fmt::format("{}{}", text.empty() ? "" : ",", value);
  return text;
}

std::string describe(const TileAssignment& tiles) {
  std::string text = fmt::format("devices=[{}]", join(tiles.dims));
  if (!tiles.devices.empty()) return text + join(tiles.devices);
  text += fmt::format("<=[{}]", join(tiles.iota_reshape));
  if (!tiles.iota_transpose.empty()) text += fmt::format("T({})", join(tiles.iota_transpose));
  return text;
}

// Devices in grid order of the iota form.
std::vector<int64_t> iota_devices(const TileAssignment& tiles, int64_t count) {
  std::vector<int64_t> devices(static_cast<size_t>(count));
  if (tiles.iota_reshape.empty() || tiles.iota_transpose.empty()) {
    std::iota(devices.begin(), devices.end(), int64_t{0});
    return devices;
  }
  const size_t rank = tiles.iota_reshape.size();
  std::vector<int64_t> strides(rank, 1);
  for (size_t i = rank - 1; i-- > 0;) strides[i] = strides[i + 1] * tiles.iota_reshape[i + 1];
  std::vector<int64_t> index(rank, 0);
  int64_t device = 0;
  for (int64_t& entry : devices) {
    entry = device;
    for (size_t i = rank; i-- > 0;) {
      const auto dim = static_cast<size_t>(tiles.iota_transpose[i]);
      device += strides[dim];
      if (++index[i] < tiles.iota_reshape[dim]) break;
      device -= strides[dim] * tiles.iota_reshape[dim];
      index[i] = 0;
    }
  }
  return devices;
}

// The digits of one grid dimension: `map` holds positions in grid order, `block` the number of grid
// indices below this dimension. Takes the longest runs of equal steps, minor to major.
std::optional<std::vector<Digit>> digits_of_dim(const std::vector<int64_t>& map, int64_t block,
                                                int64_t size) {
  std::vector<Digit> digits;
  while (size > 1) {
    const int64_t stride = map[static_cast<size_t>(block)];
    if (stride < 1) return std::nullopt;
    int64_t run = 1;
    while (run < size && map[static_cast<size_t>(block * run)] == stride * run) ++run;
    while (size % run != 0) --run;
    if (run == 1) return std::nullopt;
    digits.push_back({stride, run});
    block *= run;
    size /= run;
  }
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// Whether the digits give back the map.
bool digits_explain(const Digits& digits, const std::vector<int64_t>& map) {
  std::vector<Digit> flat;
  for (const auto& dim : digits) flat.insert(flat.end(), dim.begin(), dim.end());
  for (size_t i = 0; i < map.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t position = 0;
    for (size_t d = flat.size(); d-- > 0;) {
      position += rest % flat[d].size * flat[d].stride;
      rest /= flat[d].size;
    }
    if (position != map[i]) return false;
  }
  return true;
}

std::optional<Digits> find_digits(const std::vector<int64_t>& map,
                                  const std::vector<int64_t>& dims) {
  Digits digits(dims.size());
  int64_t block = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    auto dim = digits_of_dim(map, block, dims[i]);
    if (!dim) return std::nullopt;
    digits[i] = std::move(*dim);
    block *= dims[i];
  }
  if (!digits_explain(digits, map)) return std::nullopt;
  return digits;
}

// Position of each device: the inverse of the mesh's device order. Empty for the natural order.
std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> positions(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    positions[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return positions;
}

void map_to_positions(std::vector<int64_t>& devices, const std::vector<int64_t>& positions) {
  if (positions.empty()) return;
  for (int64_t& device : devices) device = positions[static_cast<size_t>(device)];
}

std::vector<int64_t> axis_strides(const Mesh& mesh) {
  std::vector<int64_t> strides(static_cast<size_t>(mesh.num_axes()), 1);
  for (int i = mesh.num_axes() - 2; i >= 0; --i) {
    const auto at = static_cast<size_t>(i);
    strides[at] = strides[at + 1] * mesh.axis_size(i + 1);
  }
  return strides;
}

// The axes that a digit runs over, major to minor; nullopt when it cuts an axis unevenly.
std::optional<AxisList> axes_of_digit(Digit digit, const Mesh& mesh) {
  AxisList axes;
  const std::vector<int64_t> strides = axis_strides(mesh);
  for (int i = mesh.num_axes() - 1; i >= 0 && digit.size > 1; --i) {
    const int64_t below = strides[static_cast<size_t>(i)];
    const int64_t extent = mesh.axis_size(i);
    if (digit.stride >= below * extent) continue;
    if (digit.stride % below != 0) return std::nullopt;
    const int64_t minor = digit.stride / below;  // what is left of the axis below the digit
    if (extent % minor != 0) return std::nullopt;
    const int64_t available = extent / minor;
    const int64_t size = std::min(available, digit.size);
    if (available % size != 0 || digit.size % size != 0) return std::nullopt;
    if (size > 1) {
      axes.push_back(size == extent ? AxisRef{i, 1, 0} : AxisRef{i, available / size, size});
    }
    digit.stride *= size;
    digit.size /= size;
  }
  if (digit.size > 1) return std::nullopt;
  std::reverse(axes.begin(), axes.end());
  return axes;
}

std::optional<AxisList> axes_of_digits(const std::vector<Digit>& digits, const Mesh& mesh) {
  AxisList axes;
  for (const Digit& digit : digits) {
    const auto part = axes_of_digit(digit, mesh);
    if (!part) return std::nullopt;
    axes.insert(axes.end(), part->begin(), part->end());
  }
  return axes;
}

[[noreturn]] void throw_not_on_mesh(const TileAssignment& tiles, const Mesh& mesh) {
  throw UserError("",
                  fmt::format("the sharding {{{}}} follows no axes of the mesh {}", describe(tiles),
                              mesh.num_axes() == 0 ? "without axes" : mesh.to_string()));
}

AxisList& axes_for(SubgroupType type, Sharding& sharding) {
  switch (type) {
    case SubgroupType::kManual:
      return sharding.manual;
    case SubgroupType::kUnreduced:
      return sharding.unreduced;
    case SubgroupType::kReplicated:
      break;
  }
  return sharding.replicated;
}

}  // namespace

int64_t check_tiles(const TileAssignment& tiles) {
  const int64_t count = product(tiles.dims);
  if (tiles.trailing.size() > tiles.dims.size()) {
    throw UserError("", fmt::format("{} subgroup types in the sharding {{{}}}",
                                    tiles.trailing.size(), describe(tiles)));
  }
  const auto bad = [&](const std::string& fact) {
    throw UserError(
        "", fmt::format("{} in the sharding {{{}}} of {} tiles", fact, describe(tiles), count));
  };
  if (!tiles.devices.empty()) {
    if (static_cast<int64_t>(tiles.devices.size()) != count) {
      bad(fmt::format("{} devices", tiles.devices.size()));
    }
    std::vector<bool> seen(tiles.devices.size(), false);
    for (int64_t device : tiles.devices) {
      if (device < 0 || device >= count) bad(fmt::format("device {}", device));
      if (seen[static_cast<size_t>(device)]) bad(fmt::format("device {} twice", device));
      seen[static_cast<size_t>(device)] = true;
    }
    return count;
  }
  if (!tiles.iota_reshape.empty() && product(tiles.iota_reshape) != count) {
    bad(fmt::format("{} devices", product(tiles.iota_reshape)));
  }
  if (tiles.iota_transpose.empty()) return count;
  std::vector<int64_t> sorted = tiles.iota_transpose;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = sorted.size() == tiles.iota_reshape.size();
  for (size_t i = 0; permutation && i < sorted.size(); ++i) {
    permutation = sorted[i] == static_cast<int64_t>(i);
  }
  if (!permutation) bad(fmt::format("transposition ({})", join(tiles.iota_transpose)));
  return count;
}

std::vector<int64_t> devices_of(const TileAssignment& tiles) {
  return tiles.devices.empty() ? iota_devices(tiles, product(tiles.dims)) : tiles.devices;
}

Sharding sharding_from_tiles(const TileAssignment& tiles, const Mesh& mesh, int64_t rank) {
  const int64_t count = check_tiles(tiles);
  const auto tensor_rank = static_cast<int64_t>(tiles.dims.size() - tiles.trailing.size());
  if (tensor_rank != rank) {
    throw UserError("", fmt::format("the sharding {{{}}} is for {} dimensions, the tensor has {}",
                                    describe(tiles), tensor_rank, rank));
  }
  Sharding sharding = Sharding::replicate(rank);
  if (count == 1) return sharding;
  if (count != mesh.num_devices()) {
    throw UserError("", fmt::format("the sharding {{{}}} is for {} devices, the mesh {} has {}",
                                    describe(tiles), count, mesh.to_string(), mesh.num_devices()));
  }
  std::vector<int64_t> map = devices_of(tiles);
  map_to_positions(map, inverse(mesh.device_ids()));
  const auto digits = find_digits(map, tiles.dims);
  if (!digits) throw_not_on_mesh(tiles, mesh);
  for (size_t i = 0; i < digits->size(); ++i) {
    auto axes = axes_of_digits((*digits)[i], mesh);
    if (!axes) throw_not_on_mesh(tiles, mesh);
    if (i < static_cast<size_t>(rank)) {
      sharding.dims[i].axes = from_atoms(*axes, mesh);
      continue;
    }
    const SubgroupType type = tiles.trailing[i - static_cast<size_t>(rank)];
    if (type == SubgroupType::kReplicated) continue;  // what no axis is used for is replicated
    AxisList& target = axes_for(type, sharding);
    target.insert(target.end(), axes->begin(), axes->end());
  }
  std::sort(sharding.manual.begin(), sharding.manual.end());
  return sharding;
}

TileAssignment tiles_from_sharding(const Sharding& sharding, const Mesh& mesh) {
  TileAssignment tiles;
  const AxisList all = mesh_atoms(mesh);
  AxisList order;  // atoms in grid order
  const auto append = [&](const AxisList& axes) {
    const AxisList atoms = to_atoms(axes, mesh);
    order.insert(order.end(), atoms.begin(), atoms.end());
    return axes_size(axes, mesh);
  };
  for (const DimSharding& dim : sharding.dims) tiles.dims.push_back(append(dim.axes));
  AxisList unused;
  for (const AxisRef& atom : all) {
    if (!sharding.uses(atom, mesh)) unused.push_back(atom);
  }
  const auto trail = [&](const AxisList& axes, SubgroupType type) {
    const int64_t size = append(axes);
    if (size == 1) return;
    tiles.dims.push_back(size);
    tiles.trailing.push_back(type);
  };
  trail(unused, SubgroupType::kReplicated);
  trail(sharding.manual, SubgroupType::kManual);
  trail(sharding.unreduced, SubgroupType::kUnreduced);

  const auto place_of = [&](const AxisRef& atom) {
    return std::find(all.begin(), all.end(), atom) - all.begin();
  };
  if (mesh.device_ids().empty()) {
    for (const AxisRef& atom : all) tiles.iota_reshape.push_back(atom.size_in(mesh));
    for (const AxisRef& atom : order) tiles.iota_transpose.push_back(place_of(atom));
    return tiles;
  }
  TileAssignment natural;
  for (const AxisRef& atom : all) natural.iota_reshape.push_back(atom.size_in(mesh));
  for (const AxisRef& atom : order) natural.iota_transpose.push_back(place_of(atom));
  tiles.devices = iota_devices(natural, mesh.num_devices());
  for (int64_t& device : tiles.devices) {
    device = mesh.device_ids()[static_cast<size_t>(device)];
  }
  return tiles;
}

namespace {

// Adds where the digits begin and end as strides at which the mesh must be cut.
void add_cuts(const Digits& digits, std::vector<int64_t>& cuts) {
  for (const auto& dim : digits) {
    for (const Digit& digit : dim) {
      cuts.push_back(digit.stride);
      cuts.push_back(digit.stride * digit.size);
    }
  }
}

// The mesh cut at these strides, or nullopt when they are no chain of divisors.
std::optional<Mesh> mesh_from_cuts(std::vector<int64_t> cuts, std::vector<int64_t> order) {
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<MeshAxis> axes;
  for (size_t i = cuts.size(); i-- > 1;) {
    if (cuts[i] % cuts[i - 1] != 0) return std::nullopt;
    axes.push_back({fmt::format("axis_{}", axes.size()), cuts[i] / cuts[i - 1]});
  }
  return Mesh(std::move(axes), std::move(order));
}

// The mesh over devices in `order` (empty: natural) that serves every grid.
std::optional<Mesh> mesh_in_order(std::span<const TileAssignment> tiles, int64_t count,
                                  const std::vector<int64_t>& order) {
  const std::vector<int64_t> positions = inverse(order);
  std::vector<int64_t> cuts = {1, count};
  for (const TileAssignment& grid : tiles) {
    std::vector<int64_t> map = devices_of(grid);
    map_to_positions(map, positions);
    const auto digits = find_digits(map, grid.dims);
    if (!digits) return std::nullopt;
    add_cuts(*digits, cuts);
  }
  return mesh_from_cuts(std::move(cuts), order);
}

}  // namespace

Mesh mesh_from_tiles(std::span<const TileAssignment> tiles, int64_t num_devices) {
  std::vector<TileAssignment> grids;
  int64_t count = std::max<int64_t>(num_devices, 1);
  if (count > kMaxTileDevices) {
    throw UserError("", fmt::format("{} devices, expected at most {}", count, kMaxTileDevices));
  }
  for (const TileAssignment& grid : tiles) {
    const int64_t devices = check_tiles(grid);
    if (devices == 1) continue;
    if (count != 1 && devices != count) {
      throw UserError("", fmt::format("the sharding {{{}}} is for {} devices, others for {}",
                                      describe(grid), devices, count));
    }
    count = devices;
    if (std::find(grids.begin(), grids.end(), grid) == grids.end()) grids.push_back(grid);
  }
  if (count == 1) return Mesh();
  if (auto mesh = mesh_in_order(grids, count, {})) return *mesh;
  for (const TileAssignment& grid : grids) {
    if (auto mesh = mesh_in_order(grids, count, devices_of(grid))) return *mesh;
  }
  std::string all;
  for (const TileAssignment& grid : grids) all += "\n    {" + describe(grid) + "}";
  throw UserError("", "no mesh has axes for all of these shardings:" + all,
                  "name a mesh and shardings of your own with --config");
}

Sharding sharding_on_mesh(const Sharding& sharding, const Mesh& from, const Mesh& to,
                          int64_t rank) {
  if (from.is_maximal() && sharding.rank() == 0) return Sharding::replicate(rank);
  if (from == to) return sharding;
  if (from.num_axes() == 0) return Sharding::replicate(sharding.rank());
  Mesh cut = from;
  choose_factors(axes_of(sharding), cut);
  const TileAssignment tiles = tiles_from_sharding(sharding, cut);
  Sharding result = sharding_from_tiles(tiles, to, sharding.rank());
  result.reduction = sharding.reduction;
  for (size_t i = 0; i < result.dims.size(); ++i) {
    result.dims[i].open = sharding.dims[i].open;
    result.dims[i].priority = sharding.dims[i].priority;
  }
  return result;
}

std::optional<AxisList> axes_of_groups(const std::vector<std::vector<int64_t>>& groups,
                                       const Mesh& mesh) {
  if (groups.empty()) {
    AxisList all;
    for (int i = 0; i < mesh.num_axes(); ++i) all.push_back({i, 1, 0});
    return all;
  }
  const auto count = static_cast<int64_t>(groups.size() * groups[0].size());
  if (count != mesh.num_devices() || count > kMaxTileDevices) return std::nullopt;
  const int64_t first = mesh.device_ids().empty() ? 0 : mesh.device_ids()[0];
  std::vector<std::vector<int64_t>> sorted = groups;
  std::vector<int64_t> map;  // positions of the group that starts at position 0
  for (const auto& group : groups) {
    if (group.size() != groups[0].size()) return std::nullopt;
    for (int64_t device : group) {
      if (device < 0 || device >= count) return std::nullopt;
    }
    if (group[0] == first) map = group;
  }
  if (map.empty()) return std::nullopt;
  map_to_positions(map, inverse(mesh.device_ids()));
  const auto digits = digits_of_dim(map, 1, static_cast<int64_t>(map.size()));
  if (!digits) return std::nullopt;
  auto axes = axes_of_digits(*digits, mesh);
  if (!axes) return std::nullopt;
  std::vector<std::vector<int64_t>> expected = device_groups(*axes, mesh);
  std::sort(sorted.begin(), sorted.end());
  std::sort(expected.begin(), expected.end());
  if (sorted != expected) return std::nullopt;
  return from_atoms(*axes, mesh);
}

}  // namespace spmd
