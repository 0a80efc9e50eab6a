// Values of an argument that are drawn, not read. An element depends on the draw and its place in
// the global tensor only, so that they are the same on every mesh and every device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/placement.h"

namespace spmd {

struct NormalDraw {
  uint64_t seed = 0;
  double deviation = 0;  // 0, and of types that are no floats of 16 bits or more: zeros
};

// Whether there is anything but zeros to write.
bool draws_values(const NormalDraw& draw, plan::DType dtype);

// Writes a block of the draw into zeros, by as many threads as there are cores.
void draw_block(const NormalDraw& draw, const plan::Placement& placement, const LocalBlock& block,
                std::byte* local);

}  // namespace spmd
