#include "runtime/device/cuda/random_values.h"

#include <algorithm>
#include <vector>

namespace spmd::cuda {

int64_t element_bytes(cudaDataType_t type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

void fill_randomly(const Gpu& gpu, const GpuMemory& memory, int64_t bytes, cudaDataType_t type) {
  constexpr int64_t kPiece = 1 << 20;
  const auto size = static_cast<size_t>(element_bytes(type));
  std::vector<std::byte> piece(static_cast<size_t>(std::min(kPiece, (bytes + 7) / 8 * 8)));
  uint64_t state = 0x9e3779b97f4a7c15U;
  for (size_t at = 0; at + size <= piece.size(); at += size) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto value = static_cast<float>(static_cast<double>(state >> 40) / (1 << 23) - 1);
    const auto wide = static_cast<double>(value);
    // The upper half of a float is its value in bfloat16, and some small number in float16.
    if (type == CUDA_R_64F) {
      std::copy_n(reinterpret_cast<const std::byte*>(&wide), 8, &piece[at]);
    } else if (type == CUDA_R_32F) {
      std::copy_n(reinterpret_cast<const std::byte*>(&value), 4, &piece[at]);
    } else {
      std::copy_n(reinterpret_cast<const std::byte*>(&value) + 2, 2, &piece[at]);
    }
  }
  int64_t done = std::min(static_cast<int64_t>(piece.size()), bytes);
  gpu.check(gpu.driver().MemcpyHtoDAsync(memory.address(), piece.data(), static_cast<size_t>(done),
                                         gpu.stream()),
            "filling memory to time kernels");
  while (done < bytes) {
    const int64_t more = std::min(done, bytes - done);
    gpu.check(
        gpu.driver().MemcpyDtoDAsync(memory.address() + static_cast<CUdeviceptr>(done),
                                     memory.address(), static_cast<size_t>(more), gpu.stream()),
        "filling memory to time kernels");
    done += more;
  }
  gpu.synchronize();
}

}  // namespace spmd::cuda
