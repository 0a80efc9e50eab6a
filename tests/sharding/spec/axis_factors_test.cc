#include "sharding/spec/axis_factors.h"

#include <gtest/gtest.h>

#include "sharding/spec/sharding.h"

namespace spmd {
namespace {

using Numbers = std::vector<int64_t>;

Numbers factors_of(int64_t size, const AxisList& parts) {
  Mesh mesh({{"x", size}});
  choose_factors(parts, mesh);
  return mesh.factors(0);
}

TEST(AxisFactors, AreTheSmallestFirstUnlessPartsSayOtherwise) {
  EXPECT_EQ(factors_of(12, {}), (Numbers{2, 2, 3}));
  EXPECT_EQ(factors_of(1, {}), (Numbers{}));
  EXPECT_EQ(factors_of(6, {{0, 1, 0}}), (Numbers{2, 3}));
  EXPECT_EQ(factors_of(6, {{0, 1, 3}}), (Numbers{3, 2}));
  EXPECT_EQ(factors_of(6, {{0, 3, 2}}), (Numbers{3, 2}));
  EXPECT_EQ(factors_of(12, {{0, 2, 3}}), (Numbers{2, 3, 2}));
  EXPECT_EQ(factors_of(12, {{0, 1, 6}}), (Numbers{2, 3, 2}));
  EXPECT_EQ(factors_of(12, {{0, 1, 6}, {0, 1, 3}}), (Numbers{3, 2, 2}));
  EXPECT_EQ(factors_of(30, {{0, 5, 3}}), (Numbers{5, 3, 2}));
}

// 6 cannot be 3 times 2 and 2 times 3: the first one holds.
TEST(AxisFactors, PartsThatCutAcrossOthersAreLeftOut) {
  EXPECT_EQ(factors_of(6, {{0, 1, 3}, {0, 1, 2}}), (Numbers{3, 2}));
  EXPECT_EQ(factors_of(6, {{0, 1, 2}, {0, 1, 3}}), (Numbers{2, 3}));
  EXPECT_EQ(factors_of(6, {{0, 1, 4}}), (Numbers{2, 3}));  // is no factor
}

TEST(AxisFactors, AtomsAreMadeOfThem) {
  Mesh mesh({{"x", 12}, {"y", 2}});
  choose_factors({{0, 1, 3}}, mesh);
  EXPECT_EQ(mesh_atoms(mesh), (AxisList{{0, 1, 3}, {0, 3, 2}, {0, 6, 2}, {1, 1, 0}}));
  EXPECT_EQ(to_atoms({{0, 3, 4}}, mesh), (AxisList{{0, 3, 2}, {0, 6, 2}}));
  EXPECT_EQ(from_atoms({{0, 3, 2}, {0, 6, 2}}, mesh), (AxisList{{0, 3, 4}}));
  EXPECT_EQ(from_atoms({{0, 1, 3}, {0, 3, 2}, {0, 6, 2}}, mesh), (AxisList{{0, 1, 0}}));
}

// How an axis is looked at is no difference between meshes.
TEST(AxisFactors, MeshesAreEqualWhateverTheirFactors) {
  Mesh mesh({{"x", 6}});
  choose_factors({{0, 1, 3}}, mesh);
  EXPECT_EQ(mesh, Mesh({{"x", 6}}));
}

}  // namespace
}  // namespace spmd
