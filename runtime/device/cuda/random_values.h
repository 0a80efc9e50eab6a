// Values that kernels are timed on.
#pragma once

#include <library_types.h>

#include "runtime/device/cuda/gpu.h"

namespace spmd::cuda {

// Of a float of 64, 32 or 16 bits.
int64_t element_bytes(cudaDataType_t type);

// Values as programs have them: how many bits toggle decides what the GPU's clock does. Waits until
// they are there.
void fill_randomly(const Gpu& gpu, const GpuMemory& memory, int64_t bytes, cudaDataType_t type);

}  // namespace spmd::cuda
