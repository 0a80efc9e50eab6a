// Axes: what each dimension of a value stands for, followed through ops that only move elements.
#pragma once

#include <optional>
#include <vector>

#include "ir/module.h"

namespace spmd::raise {

// A number that a matcher gives to one meaning: the batch, the positions of the keys, ...
using Axis = int;
inline constexpr Axis kOne = -1;   // a dimension of size 1, whatever its place
inline constexpr Axis kSame = -2;  // the value is the same all along this dimension

// One axis for each dimension.
using Axes = std::vector<Axis>;

// A value and what its dimensions are.
struct Labelled {
  ValueId value = ValueId::kNone;
  Axes axes;
  bool operator==(const Labelled&) const = default;
};

bool has_axis(const Axes& axes, Axis axis);
// Without kOne and kSame, in order.
Axes named(const Axes& axes);

// The axes of the result of a reshape (that adds or drops dimensions of size 1), transpose,
// broadcast or conversion of floats whose operand has these axes; nullopt for other ops.
std::optional<Axes> axes_of_result(const Function& fn, const Op& op, const Axes& operand);
// The other way round; not for broadcasts.
std::optional<Axes> axes_of_operand(const Function& fn, const Op& op, const Axes& result);
// The value that `from` consists of, in another order of its dimensions.
Labelled source_of(const Function& fn, Labelled from);

// The axes of elementwise operands: of each dimension one that is known, if they agree.
std::optional<Axes> joined(const Axes& a, const Axes& b);

}  // namespace spmd::raise
