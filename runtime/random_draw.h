// Values of an argument that are drawn, not read. An element depends on the draw and its place in
// the global tensor only, so that they are the same on every mesh and every device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/placement.h"

namespace spmd {

// Floats of 16 bits or more are normal with mean 0, integers uniform in [0, bound); what is left is
// zero.
struct RandomDraw {
  uint64_t seed = 0;
  double deviation = 0;
  int64_t bound = 0;
};

// Whether there is anything but zeros to write.
bool draws_values(const RandomDraw& draw, plan::DType dtype);

// Writes a block of the draw into zeros, by as many threads as there are cores.
void draw_block(const RandomDraw& draw, const plan::Placement& placement, const LocalBlock& block,
                std::byte* local);

}  // namespace spmd
