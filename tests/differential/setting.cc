#include "tests/differential/setting.h"

#include <algorithm>

namespace spmd::testing {
namespace {

// More devices cost time and show nothing new.
constexpr int64_t kMostDevices = 12;

std::vector<int64_t> axis_sizes(const Setting& setting, Random& random) {
  std::vector<int64_t> sizes;
  if (setting.has(Circumstance::kSubAxis)) sizes.push_back(random.of<int64_t>({4, 4, 6, 8, 12}));
  if (setting.has(Circumstance::kEmptyShard)) sizes.push_back(random.of<int64_t>({3, 4, 4, 8}));
  if (setting.has(Circumstance::kAxisOfOne)) sizes.push_back(1);
  if (setting.has(Circumstance::kUnreduced)) sizes.push_back(random.of<int64_t>({2, 2, 3, 4}));
  const auto wanted = static_cast<size_t>(random.pick(1, 3));
  while (sizes.size() < wanted) sizes.push_back(random.of<int64_t>({1, 2, 2, 2, 3, 4, 4}));
  random.shuffle(sizes);
  return sizes;
}

Mesh random_mesh(const Setting& setting, Random& random) {
  std::vector<MeshAxis> axes;
  int64_t devices = 1;
  for (int64_t size : axis_sizes(setting, random)) {
    if (devices * size > kMostDevices) continue;
    devices *= size;
    axes.push_back({std::string(1, "xyz"[axes.size()]), size});
  }
  std::vector<int64_t> order;
  if (setting.has(Circumstance::kOddOrder) || random.chance(20)) {
    for (int64_t device = 0; device < devices; ++device) order.push_back(device);
    random.shuffle(order);
  }
  Mesh mesh(std::move(axes), std::move(order));
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    std::vector<int64_t> factors = mesh.factors(axis);
    random.shuffle(factors);
    mesh.set_factors(axis, std::move(factors));
  }
  return mesh;
}

// An axis as a whole, or cut into parts, of which some are left out.
void append_pieces(int axis, const Setting& setting, Random& random, AxisList& pieces) {
  const int64_t size = setting.mesh.axis_size(axis);
  const AxisList atoms = to_atoms({{axis, 1, 0}}, setting.mesh);
  if (atoms.size() < 2 || !random.chance(setting.has(Circumstance::kSubAxis) ? 80 : 25)) {
    pieces.push_back({axis, 1, 0});
    return;
  }
  const auto cut = static_cast<size_t>(random.pick(1, static_cast<int64_t>(atoms.size()) - 1));
  const int64_t major =
      axes_size({atoms.begin(), atoms.begin() + static_cast<ptrdiff_t>(cut)}, setting.mesh);
  if (random.chance(80)) pieces.push_back({axis, 1, major});
  if (random.chance(80)) pieces.push_back({axis, major, size / major});
}

bool contains_axis(const AxisList& list, const AxisRef& axis) {
  return std::any_of(list.begin(), list.end(),
                     [&](const AxisRef& other) { return other.axis == axis.axis; });
}

void place(const AxisRef& piece, const Setting& setting, Random& random, bool may_be_unreduced,
           Sharding& sharding) {
  const int unreduced = setting.has(Circumstance::kUnreduced) ? 35 : 3;
  if (may_be_unreduced && random.chance(unreduced)) {
    sharding.unreduced.push_back(piece);
  } else if (!sharding.dims.empty() && random.chance(65)) {
    sharding.dims[static_cast<size_t>(random.below(sharding.rank()))].axes.push_back(piece);
  } else if (random.chance(10)) {
    sharding.replicated.push_back(piece);
  }
}

// Unreduced values are rarer than they are drawn: most are reduced before another op sees them.
Circumstance random_circumstance(Random& random) {
  const auto count = static_cast<int64_t>(kCircumstanceNames.size());
  const int64_t drawn = random.below(count + 1);
  return drawn < count ? static_cast<Circumstance>(drawn) : Circumstance::kUnreduced;
}

}  // namespace

Setting random_setting(Random& random) {
  Setting setting;
  setting.op = random.below(1 << 20);
  setting.circumstance = random_circumstance(random);
  setting.whole = random.chance(75);
  setting.deep = random.chance(4);
  setting.mesh = setting.deep ? Mesh({{"x", 1}}) : random_mesh(setting, random);
  return setting;
}

int64_t random_size(const Setting& setting, Random& random) {
  if (random.chance(1)) return 0;
  if (setting.has(Circumstance::kUneven) && random.chance(50)) {
    return random.of<int64_t>({3, 5, 6, 7, 9, 10, 11, 13});
  }
  if (setting.has(Circumstance::kEmptyShard) && random.chance(50)) {
    return random.of<int64_t>({1, 2, 2, 3, 5, 5});
  }
  return random.of<int64_t>({1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 12, 13});
}

AxisList random_pieces(const Setting& setting, Random& random, const AxisList& taken) {
  AxisList pieces;
  for (int axis = 0; axis < setting.mesh.num_axes(); ++axis) {
    append_pieces(axis, setting, random, pieces);
  }
  std::erase_if(pieces, [&](const AxisRef& piece) { return contains_axis(taken, piece); });
  random.shuffle(pieces);
  return pieces;
}

Sharding random_sharding(const Setting& setting, Random& random, int64_t rank,
                         const AxisList& taken, bool may_be_unreduced) {
  Sharding sharding = Sharding::replicate(rank);
  for (DimSharding& dim : sharding.dims) {
    dim.open = random.chance(60);
    if (random.chance(10)) dim.priority = static_cast<int>(random.below(3));
  }
  for (const AxisRef& piece : random_pieces(setting, random, taken))
    place(piece, setting, random, may_be_unreduced, sharding);
  const auto joined = [&](AxisList& list) {  // neighbouring parts of an axis are that axis
    list = from_atoms(to_atoms(list, setting.mesh), setting.mesh);
  };
  for (DimSharding& dim : sharding.dims) joined(dim.axes);
  std::sort(sharding.replicated.begin(), sharding.replicated.end());
  joined(sharding.replicated);
  std::sort(sharding.unreduced.begin(), sharding.unreduced.end());
  joined(sharding.unreduced);
  return sharding;
}

}  // namespace spmd::testing
