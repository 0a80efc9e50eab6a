// Every pair of shardings of a cube over meshes of three axes. The cube's dimensions are alike, so
// sources that differ by their order only are taken once.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/collectives/planning/exhaustive.h"

namespace spmd {
namespace {

bool uses(const Sharding& sharding, int axis) {
  return std::any_of(sharding.dims.begin(), sharding.dims.end(), [&](const DimSharding& dim) {
    return std::any_of(dim.axes.begin(), dim.axes.end(),
                       [&](const AxisRef& ref) { return ref.axis == axis; });
  });
}

// All ways to give the mesh's axes to three dimensions, in all orders, or to none.
std::vector<Sharding> all_shardings(const Mesh& mesh) {
  std::vector<Sharding> done, open = {Sharding::replicate(3)};
  std::set<std::string> seen;
  while (!open.empty()) {
    const Sharding sharding = std::move(open.back());
    open.pop_back();
    if (!seen.insert(sharding.to_string(mesh)).second) continue;
    done.push_back(sharding);
    for (int axis = 0; axis < static_cast<int>(mesh.num_axes()); ++axis) {
      for (size_t d = 0; d < 3 && !uses(sharding, axis); ++d) {
        open.push_back(sharding);
        open.back().dims[d].axes.push_back({axis, 1, 0});
      }
    }
  }
  return done;
}

// Whether its dimensions are in the first of their orders.
bool is_canonical(const Sharding& sharding, const Mesh& mesh) {
  std::vector<size_t> order = {0, 1, 2};
  do {
    Sharding other = sharding;
    for (size_t d = 0; d < 3; ++d) other.dims[d] = sharding.dims[order[d]];
    if (other.to_string(mesh) < sharding.to_string(mesh)) return false;
  } while (std::next_permutation(order.begin(), order.end()));
  return true;
}

class ReshardPairs : public ::testing::TestWithParam<std::tuple<std::vector<int64_t>, int64_t>> {
 protected:
  ReshardPairs() : mesh_(axes()), shardings_(all_shardings(mesh_)) {}

  static std::vector<MeshAxis> axes() {
    std::vector<MeshAxis> axes;
    for (int64_t size : std::get<0>(GetParam())) {
      axes.push_back({std::string(1, static_cast<char>('x' + axes.size())), size});
    }
    return axes;
  }

  void check_from(const Sharding& from) {
    const int64_t extent = mesh_.num_devices(), bytes = std::get<1>(GetParam());
    const std::vector<int64_t> cube = {extent, extent, extent};
    const CostModel cost;
    const auto least = [&](testing::Constraint constraint) {
      return testing::least_seconds_to_each(cube, bytes, from, shardings_, mesh_, cost, constraint);
    };
    const auto any = least({});
    std::vector<double> avoiding, below;  // when asked for
    for (size_t i = 0; i < shardings_.size(); ++i) {
      const Sharding& to = shardings_[i];
      SCOPED_TRACE(mesh_.to_string() + ": " + from.to_string(mesh_) + " -> " + to.to_string(mesh_));
      const ReshardPlan plan = plan_reshard(cube, bytes, from, to, mesh_, cost);
      const bool is_whole = plan.peak_bytes >= extent * extent * extent * bytes;
      if (is_whole && below.empty()) below = least({.below_full_size = true});
      EXPECT_FALSE(is_whole && std::isfinite(below[i]));
      if (plan.seconds <= any[i] * 1.05 + 1e-12) continue;
      // More than the least, to save bytes or memory.
      if (below.empty()) below = least({.below_full_size = true});
      if (avoiding.empty()) avoiding = least({.avoid_rematerialization = true});
      EXPECT_FALSE(plan.full_rematerialization);
      const double allowed = plan.seconds <= below[i] * 1.05 ? below[i] : avoiding[i];
      EXPECT_LE(plan.seconds, allowed * 1.05 + 1e-12);
    }
  }

  const Mesh mesh_;
  const std::vector<Sharding> shardings_;
};

TEST_P(ReshardPairs, AreNearTheLeastAndBelowTheFullSize) {
  ASSERT_EQ(shardings_.size(), 106u);  // sum over k axes of C(3, k) k! C(k + 2, 2)
  for (const Sharding& from : shardings_) {
    if (is_canonical(from, mesh_)) check_from(from);
  }
}

// Small elements: latency decides; large ones: bytes.
INSTANTIATE_TEST_SUITE_P(Meshes, ReshardPairs,
                         ::testing::Combine(::testing::Values(std::vector<int64_t>{2, 2, 2},
                                                              std::vector<int64_t>{2, 3, 4}),
                                            ::testing::Values(4, 1'000'000)));

}  // namespace
}  // namespace spmd
