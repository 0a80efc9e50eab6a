// rng_bit_generator: threefry-2x32 and philox-4x32 (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3"), with counters laid over elements as XLA does.
#pragma once

#include "runtime/device/cuda/kernels/common.cuh"

namespace spmd::cuda {

__device__ inline uint32_t rotated(uint32_t x, int by) { return x << by | x >> (32 - by); }

__device__ inline void threefry(uint64_t counter, uint64_t key_word, uint32_t* out) {
  const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const auto low = static_cast<uint32_t>(key_word), high = static_cast<uint32_t>(key_word >> 32);
  const uint32_t key[3] = {low, high, 0x1BD11BDAu ^ low ^ high};
  uint32_t x = static_cast<uint32_t>(counter) + key[0];
  uint32_t y = static_cast<uint32_t>(counter >> 32) + key[1];
#pragma unroll
  for (int group = 0; group < 5; ++group) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      x += y;
      y = rotated(y, rotations[group % 2][i]) ^ x;
    }
    x += key[(group + 1) % 3];
    y += key[(group + 2) % 3] + static_cast<uint32_t>(group) + 1;
  }
  out[0] = x;
  out[1] = y;
}

__device__ inline void philox(uint64_t lower, uint64_t upper, uint64_t key_word, uint32_t* x) {
  x[0] = static_cast<uint32_t>(lower);
  x[1] = static_cast<uint32_t>(lower >> 32);
  x[2] = static_cast<uint32_t>(upper);
  x[3] = static_cast<uint32_t>(upper >> 32);
  auto key0 = static_cast<uint32_t>(key_word), key1 = static_cast<uint32_t>(key_word >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = static_cast<uint64_t>(x[0]) * 0xD2511F53u;
    const uint64_t b = static_cast<uint64_t>(x[2]) * 0xCD9E8D57u;
    const uint32_t y0 = static_cast<uint32_t>(b >> 32) ^ x[1] ^ key0;
    const uint32_t y2 = static_cast<uint32_t>(a >> 32) ^ x[3] ^ key1;
    x[0] = y0;
    x[1] = static_cast<uint32_t>(b);
    x[2] = y2;
    x[3] = static_cast<uint32_t>(a);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

__device__ inline void put(const RandomParameters& p, uint32_t point, uint64_t word, void* out) {
  const int64_t at = offset(p.space, point, p.out);
  switch (p.element_bytes) {
    case 1:
      static_cast<uint8_t*>(out)[at] = static_cast<uint8_t>(word);
      return;
    case 2:
      static_cast<uint16_t*>(out)[at] = static_cast<uint16_t>(word);
      return;
    case 4:
      static_cast<uint32_t*>(out)[at] = static_cast<uint32_t>(word);
      return;
    default:
      static_cast<uint64_t*>(out)[at] = word;
  }
}

extern "C" __global__ void random_threefry(const __grid_constant__ RandomParameters p,
                                           const uint64_t* state, void* out) {
  const uint64_t key = state[0], first = state[p.state_stride];
  for (uint32_t point = first_point(); point < p.space.count; point += point_stride()) {
    uint32_t pair[2];
    if (p.element_bytes == 8) {
      threefry(first + point, key, pair);
      put(p, point, pair[0] | static_cast<uint64_t>(pair[1]) << 32, out);
      continue;
    }
    const uint32_t inner = point % p.inner, line = point / p.inner;
    const uint32_t place = line % p.size, outer = line / p.size;
    const uint32_t half = (p.size + 1) / 2;
    const uint64_t counter = (static_cast<uint64_t>(outer) * half + place / 2) * p.inner + inner;
    threefry(first + counter, key, pair);
    put(p, point, pair[place % 2], out);
  }
}

// Without a third word the key serves as the counter's upper half.
extern "C" __global__ void random_philox(const __grid_constant__ RandomParameters p,
                                         const uint64_t* state, void* out) {
  const uint64_t key = state[0], first = state[p.state_stride];
  const uint64_t upper = p.state_words > 2 ? state[2 * p.state_stride] : key;
  const uint32_t per_block = p.element_bytes == 8 ? 2 : 4;
  for (uint32_t point = first_point(); point < p.space.count; point += point_stride()) {
    const uint64_t lower = first + point / per_block;
    uint32_t x[4];
    philox(lower, upper + (lower < first ? 1 : 0), key, x);
    const uint32_t k = point % per_block;
    put(p, point, per_block == 2 ? x[2 * k] | static_cast<uint64_t>(x[2 * k + 1]) << 32 : x[k],
        out);
  }
}

// After all threads of the kernel above have read the state, which this may overwrite.
extern "C" __global__ void random_advance(const __grid_constant__ RandomParameters p,
                                          const uint64_t* state, uint64_t* state_out) {
  uint64_t words[3] = {};
  for (int i = 0; i < p.state_words; ++i) words[i] = state[i * p.state_stride];
  const uint64_t first = words[1];
  words[1] += p.counters;
  if (p.state_words > 2 && words[1] < first) ++words[2];
  for (int i = 0; i < p.state_words; ++i) state_out[i * p.state_out_stride] = words[i];
}

}  // namespace spmd::cuda
