#include "sharding/atoms.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace spmd::testing {
namespace {

TEST(Atoms, ArePrimeFactorsMajorToMinor) {
  const Mesh mesh({{"x", 6}, {"y", 1}, {"z", 4}});
  const AtomTable atoms(mesh);
  EXPECT_EQ(atoms.to_atoms({{0, 1, 0}}), (AtomList{0, 1}));
  EXPECT_EQ(atoms.to_atoms({{2, 2, 2}, {0, 2, 3}}), (AtomList{3, 1}));
  EXPECT_EQ(atoms.to_atoms({{1, 1, 0}, {2, 1, 4}}), (AtomList{2, 3}));
}

TEST(Atoms, SubAxesAcrossPrimeFactorsAreRefused) {
  const Mesh mesh({{"x", 6}});
  const AtomTable atoms(mesh);
  const std::string message = error_of([&] { atoms.to_atoms({{0, 1, 3}}); });
  EXPECT_NE(message.find("mesh: the sub-axis \"x\":(1)3 is not made of the prime factors of its "
                         "axis, \"x\":(1)2, \"x\":(2)3"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace spmd::testing
