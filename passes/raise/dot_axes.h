// The axes of a dot's operands and result.
#pragma once

#include "passes/raise/axes.h"

namespace spmd::raise {

struct DotAxes {
  Axes operands[2];
  Axes batch;
  Axes free[2];
};
// From the axes of the result; the dimension that is contracted gets `contracted`. Nullopt when
// several are.
std::optional<DotAxes> axes_of_dot(const Function& fn, const Op& dot, const Axes& result,
                                   Axis contracted);

struct DotWithKnown {
  Labelled other;
  Axes batch, contracted;
  Axes result;
};
// From the axes of one operand; the other one's free dimension gets `free`. Nullopt when it has
// several.
std::optional<DotWithKnown> dot_with_known(const Function& fn, const Op& dot, size_t known,
                                           const Axes& axes, Axis free);

}  // namespace spmd::raise
