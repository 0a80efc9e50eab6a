// Copies between strided windows, windows that the program moves, and gathers.
#pragma once

#include "runtime/device/cuda/kernels/common.cuh"

namespace spmd::cuda {

template <typename T>
__device__ void copy(const CopyParameters& p, const T* in, T* out) {
  int64_t moved = 0;
  for (int s = 0; s < p.starts; ++s) {
    const StartIndex& start = p.start[s];
    moved +=
        clamp(read_integer(start.at, start.bytes, start.is_signed), start.limit) * start.stride;
  }
  if (p.moves_out) {
    out += moved;
  } else {
    in += moved;
  }
  for (uint32_t point = first_point(); point < p.space.count; point += point_stride()) {
    int64_t from, to;
    offsets(p.space, point, p.in, p.out, from, to);
    out[to] = in[from];
  }
}

template <typename T>
__device__ void gather(const GatherParameters& p, const T* operand, const char* indices, T* out) {
  for (uint32_t point = first_point(); point < p.space.count; point += point_stride()) {
    int64_t at = 0, index = 0, to = 0;
    uint32_t left = point;
    for (int d = p.space.rank - 1; d >= 0; --d) {
      const uint32_t rest = left / p.space.shape[d];
      const auto i = static_cast<int64_t>(left - rest * p.space.shape[d]);
      at += i * p.operand[d];
      index += i * p.indices[d];
      to += i * p.out[d];
      left = rest;
    }
    for (int c = 0; c < p.components; ++c) {
      const int64_t start = read_integer(indices + (index + c * p.component_stride) * p.index_bytes,
                                         p.index_bytes, p.index_is_signed);
      at += clamp(start, p.limit[c]) * p.stride[c];
    }
    out[to] = operand[at];
  }
}

__device__ inline double load(Float type, const void* from, int64_t at) {
  switch (type) {
    case Float::kF16:
      return static_cast<double>(__half2float(static_cast<const F16*>(from)[at]));
    case Float::kBf16:
      return static_cast<double>(__bfloat162float(static_cast<const Bf16*>(from)[at]));
    case Float::kF32:
      return static_cast<double>(static_cast<const float*>(from)[at]);
    default:
      return static_cast<const double*>(from)[at];
  }
}

// Values come from floats of at most 32 bits where they are rounded, so that once is enough.
__device__ inline double rounded(Float type, double value) {
  switch (type) {
    case Float::kF16:
      return static_cast<double>(__half2float(__float2half_rn(static_cast<float>(value))));
    case Float::kBf16:
      return static_cast<double>(__bfloat162float(__float2bfloat16_rn(static_cast<float>(value))));
    case Float::kF32:
      return static_cast<double>(static_cast<float>(value));
    default:
      return value;
  }
}

__device__ inline void store(Float type, double value, void* to, int64_t at) {
  switch (type) {
    case Float::kF16:
      static_cast<F16*>(to)[at] = __float2half_rn(static_cast<float>(value));
      return;
    case Float::kBf16:
      static_cast<Bf16*>(to)[at] = __float2bfloat16_rn(static_cast<float>(value));
      return;
    case Float::kF32:
      static_cast<float*>(to)[at] = static_cast<float>(value);
      return;
    default:
      static_cast<double*>(to)[at] = value;
  }
}

}  // namespace spmd::cuda

#define SPMD_MOVES(name, type)                                                                     \
  extern "C" __global__ void copy_##name(const __grid_constant__ spmd::cuda::CopyParameters p,     \
                                         const type* in, type* out) {                              \
    spmd::cuda::copy(p, in, out);                                                                  \
  }                                                                                                \
  extern "C" __global__ void gather_##name(const __grid_constant__ spmd::cuda::GatherParameters p, \
                                           const type* operand, const char* indices, type* out) {  \
    spmd::cuda::gather(p, operand, indices, out);                                                  \
  }
// Every size that is moved as one element.
#define SPMD_SIZES(X) X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t) X(16, uint4)
SPMD_SIZES(SPMD_MOVES)

extern "C" __global__ void convert(const __grid_constant__ spmd::cuda::ConvertParameters p,
                                   const void* in, void* out) {
  using namespace spmd::cuda;
  for (uint32_t point = first_point(); point < p.space.count; point += point_stride()) {
    int64_t from, to;
    offsets(p.space, point, p.in, p.out, from, to);
    store(p.to, rounded(p.round, load(p.from, in, from)), out, to);
  }
}
