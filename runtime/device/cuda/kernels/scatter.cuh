// Scatter without atomics: updates of one place are applied by one thread, in their order.
#pragma once

#include "runtime/device/cuda/kernels/common.cuh"

namespace spmd::cuda {

constexpr uint64_t kNowhere = ~uint64_t{0};
constexpr int kUpdatesAtOnce = 16;
constexpr int kSortBlock = 1024;  // threads; each block sorts twice as many keys

// Compares and exchanges the keys of one step of a bitonic sort.
__device__ inline void exchange(uint64_t& a, uint64_t& b, bool ascending) {
  if ((a > b) == ascending) {
    const uint64_t t = a;
    a = b;
    b = t;
  }
}

__device__ inline uint32_t place_of(uint64_t key) { return static_cast<uint32_t>(key >> 32); }

template <typename T>
__device__ void apply_updates(const ScatterParameters& p, const uint64_t* keys, const T* updates,
                              T* out) {
  const uint32_t window = p.window.count;
  const auto points = static_cast<uint64_t>(p.batch.count) * window;
  for (uint64_t point = first_point(); point < points; point += point_stride()) {
    // Division by a number of 64 bits takes several times as long.
    const uint32_t slot = points <= ~uint32_t{0} ? static_cast<uint32_t>(point) / window
                                                 : static_cast<uint32_t>(point / window);
    const auto element = static_cast<uint32_t>(point - static_cast<uint64_t>(slot) * window);
    const uint64_t first = keys[slot];
    const uint32_t place = place_of(first);
    if (first == kNowhere) continue;
    if (slot > 0 && place_of(keys[slot - 1]) == place) continue;  // another's
    int64_t in_update, in_out;
    offsets(p.window, element, p.window_updates, p.window_out, in_update, in_out);
    T& target = out[static_cast<int64_t>(place) + in_out];
    T value = target;
    if (slot + 1 == p.batch.count || place_of(keys[slot + 1]) != place) {
      const T update =
          updates[offset(p.batch, static_cast<uint32_t>(first), p.updates) + in_update];
      target = narrow<T>(combined(p.combine, widen(value), widen(update)));
      continue;
    }
    for (uint32_t s = slot; s < p.batch.count;) {
      // Several are under way at once: each one's latency would be the time of all.
      T read[kUpdatesAtOnce];
      int count = 0;
#pragma unroll
      for (int i = 0; i < kUpdatesAtOnce; ++i) {
        const uint64_t key = s + i < p.batch.count ? keys[s + i] : kNowhere;
        const bool is_here = key != kNowhere && place_of(key) == place;
        if (is_here) {
          read[i] = updates[offset(p.batch, static_cast<uint32_t>(key), p.updates) + in_update];
          count = i + 1;
        }
      }
#pragma unroll
      for (int i = 0; i < kUpdatesAtOnce; ++i)
        if (i < count) value = narrow<T>(combined(p.combine, widen(value), widen(read[i])));
      if (count < kUpdatesAtOnce) break;
      s += kUpdatesAtOnce;
    }
    target = value;
  }
}

}  // namespace spmd::cuda

extern "C" __global__ void scatter_keys(const __grid_constant__ spmd::cuda::ScatterParameters p,
                                        const char* indices, uint64_t* keys) {
  using namespace spmd::cuda;
  for (uint32_t n = first_point(); n < p.slots; n += point_stride()) {
    uint64_t key = kNowhere;
    if (n < p.batch.count) {
      int64_t index, place;
      offsets(p.batch, n, p.indices, p.base, index, place);
      bool inside = true;
      for (int c = 0; c < p.components; ++c) {
        const int64_t start =
            read_integer(indices + (index + c * p.component_stride) * p.index_bytes, p.index_bytes,
                         p.index_is_signed);
        inside = inside && start >= 0 && start < p.size[c];
        place += start * p.stride[c];
      }
      if (inside) key = static_cast<uint64_t>(place) << 32 | n;
    }
    keys[n] = key;
  }
}

// All steps with distances of at most kSortBlock, of the rounds `first` to `last` (powers of two).
extern "C" __global__ void __launch_bounds__(spmd::cuda::kSortBlock)
    sort_within_blocks(uint64_t* keys, uint32_t slots, uint32_t first, uint32_t last) {
  using namespace spmd::cuda;
  __shared__ uint64_t part[2 * kSortBlock];
  const uint32_t base = blockIdx.x * 2 * kSortBlock;
  for (uint32_t i = threadIdx.x; i < 2 * kSortBlock; i += kSortBlock)
    part[i] = base + i < slots ? keys[base + i] : kNowhere;
  __syncthreads();
  for (uint32_t round = first; round <= last; round *= 2) {
    for (uint32_t distance = min(round / 2, static_cast<uint32_t>(kSortBlock)); distance > 0;
         distance /= 2) {
      const uint32_t low = 2 * distance * (threadIdx.x / distance) + threadIdx.x % distance;
      exchange(part[low], part[low + distance], ((base + low) & round) == 0);
      __syncthreads();
    }
  }
  for (uint32_t i = threadIdx.x; i < 2 * kSortBlock; i += kSortBlock)
    if (base + i < slots) keys[base + i] = part[i];
}

// One step of a larger distance.
extern "C" __global__ void sort_across_blocks(uint64_t* keys, uint32_t slots, uint32_t round,
                                              uint32_t distance) {
  using namespace spmd::cuda;
  for (uint32_t i = first_point(); i < slots / 2; i += point_stride()) {
    const uint32_t low = 2 * distance * (i / distance) + i % distance;
    exchange(keys[low], keys[low + distance], (low & round) == 0);
  }
}

namespace spmd::cuda {

#define SPMD_SCATTER(name, type)                                                         \
  extern "C" __global__ void scatter_##name(const __grid_constant__ ScatterParameters p, \
                                            const uint64_t* keys, const type* updates,   \
                                            type* out) {                                 \
    apply_updates(p, keys, updates, out);                                                \
  }
SPMD_TYPES(SPMD_SCATTER)

}  // namespace spmd::cuda
