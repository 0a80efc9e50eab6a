// Drawn values, the same as on the host.
#pragma once

#include "runtime/device/cuda/kernels/indexing.cuh"
#include "runtime/normal_value.h"

extern "C" __global__ void draw_normal(const __grid_constant__ spmd::cuda::DrawParameters p,
                                       void* out) {
  using namespace spmd::cuda;
  for (uint32_t point = first_point(); point < p.space.count; point += point_stride()) {
    int64_t global, local;
    offsets(p.space, point, p.global, p.local, global, local);
    const auto index = static_cast<uint64_t>(p.first + global);
    const double value = spmd::normal::multiply(p.deviation, spmd::normal::value(p.seed, index));
    store(p.type, value, out, local);
  }
}
