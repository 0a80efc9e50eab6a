// Minor factors give up their axes where padding would tear them apart.
#pragma once

#include "collectives/planning/cost_model.h"
#include "ir/module.h"

namespace spmd {

struct MinorAxesReleased {
  bool changed = false;
  bool leaves_padding = false;  // some dimension is padded all the same (DimensionClasses)
};

// A dimension of several factors, [i, j], may be sharded along j only while i and j have their true
// sizes: a longer i would be the one that the axes of j cut. Reshards the operands and results of
// every op of main() for which that does not hold, so that its minor factors are whole. Placements
// agree before and after.
MinorAxesReleased release_minor_axes(Module& module, const CostModel& cost);

}  // namespace spmd
