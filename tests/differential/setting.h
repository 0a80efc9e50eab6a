// What one random program is about, and the mesh that it is drawn on.
#pragma once

#include <array>
#include <cstdint>

#include "sharding/spec/sharding.h"
#include "tests/differential/random.h"

namespace spmd::testing {

// What is hard about a placement. coverage.h counts ops under each.
enum class Circumstance : uint8_t {
  kUneven,      // shards do not divide the dimension
  kEmptyShard,  // and some devices have none of it
  kSubAxis,     // it is cut along a part of a mesh axis
  kAxisOfOne,   // the mesh has an axis of size 1
  kUnreduced,   // a value is unreduced
  kOddOrder,    // devices are in another order than their numbers
};
inline constexpr std::array kCircumstanceNames = {"uneven", "empty",     "sub_axis",
                                                  "axis_1", "unreduced", "odd_order"};

struct Setting {
  Mesh mesh;
  // Whole numbers, so that every order of additions gives the same (InputStyle::kWhole); otherwise
  // real ones, and functions of them.
  bool whole = true;
  // One device, and many ops: for what code generation makes of them.
  bool deep = false;
  // Drawn more often than others, so that everything is met: a circumstance, and one of the ops
  // (OpDrawer takes it modulo their number).
  Circumstance circumstance = Circumstance::kUneven;
  int64_t op = 0;

  bool has(Circumstance wanted) const { return circumstance == wanted; }
};

Setting random_setting(Random& random);

// The size of a dimension: seldom 0, at most 13.
int64_t random_size(const Setting& setting, Random& random);

// Axes of the mesh that are not taken, each whole or in parts, in any order; some parts are left
// out.
AxisList random_pieces(const Setting& setting, Random& random, const AxisList& taken);
// A sharding of a tensor over all mesh axes but those of `taken`. Unreduced only when asked for.
Sharding random_sharding(const Setting& setting, Random& random, int64_t rank,
                         const AxisList& taken = {}, bool may_be_unreduced = false);

}  // namespace spmd::testing
