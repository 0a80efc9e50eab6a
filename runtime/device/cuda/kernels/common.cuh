// What the kernels of this folder share.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "runtime/device/cuda/kernels/parameters.h"

namespace spmd::cuda {

using F16 = __half;
using Bf16 = __nv_bfloat16;

// The first point of this thread; points are as far apart as there are threads.
__device__ inline uint32_t first_point() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline uint32_t point_stride() { return gridDim.x * blockDim.x; }

// Loops over dimensions are not unrolled: no rank is known here, and copies of their bodies in the
// kernels of every type would be most of this library.

// Offsets of one point in one or two operands.
__device__ inline int64_t offset(const Space& space, uint32_t point, const int64_t* a) {
  int64_t at = 0;
#pragma unroll 1
  for (int d = space.rank - 1; d >= 0; --d) {
    const uint32_t rest = point / space.shape[d];
    at += static_cast<int64_t>(point - rest * space.shape[d]) * a[d];
    point = rest;
  }
  return at;
}

__device__ inline void offsets(const Space& space, uint32_t point, const int64_t* a,
                               const int64_t* b, int64_t& at_a, int64_t& at_b) {
  at_a = at_b = 0;
#pragma unroll 1
  for (int d = space.rank - 1; d >= 0; --d) {
    const uint32_t rest = point / space.shape[d];
    const auto i = static_cast<int64_t>(point - rest * space.shape[d]);
    at_a += i * a[d];
    at_b += i * b[d];
    point = rest;
  }
}

__device__ inline int64_t read_integer(const void* at, int32_t bytes, int32_t is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? *static_cast<const int8_t*>(at) : *static_cast<const uint8_t*>(at);
    case 2:
      return is_signed ? *static_cast<const int16_t*>(at) : *static_cast<const uint16_t*>(at);
    case 4:
      return is_signed ? static_cast<int64_t>(*static_cast<const int32_t*>(at))
                       : static_cast<int64_t>(*static_cast<const uint32_t*>(at));
    default: {
      const int64_t value = *static_cast<const int64_t*>(at);
      // As an index, what does not fit is far out of range either way.
      return !is_signed && value < 0 ? INT64_MAX : value;
    }
  }
}

__device__ inline int64_t clamp(int64_t value, int64_t limit) {
  return value < 0 ? 0 : value > limit ? limit : value;
}

// The type in which values are combined.
template <typename T>
struct Compute {
  using Type = T;
};
template <>
struct Compute<F16> {
  using Type = float;
};
template <>
struct Compute<Bf16> {
  using Type = float;
};

template <typename T>
__device__ inline typename Compute<T>::Type widen(T value) {
  return static_cast<typename Compute<T>::Type>(value);
}
template <typename T>
__device__ inline T narrow(typename Compute<T>::Type value) {
  return static_cast<T>(value);
}

// NaN wins, and -0 is less than +0, as StableHLO has it.
__device__ inline float maximum(float a, float b) { return a != a ? a : b != b ? b : fmaxf(a, b); }
__device__ inline double maximum(double a, double b) {
  return a != a ? a : b != b ? b : fmax(a, b);
}
__device__ inline float minimum(float a, float b) { return a != a ? a : b != b ? b : fminf(a, b); }
__device__ inline double minimum(double a, double b) {
  return a != a ? a : b != b ? b : fmin(a, b);
}
template <typename T>
__device__ inline T maximum(T a, T b) {
  return a > b ? a : b;
}
template <typename T>
__device__ inline T minimum(T a, T b) {
  return a < b ? a : b;
}

template <typename T>
struct IsFloat {
  static constexpr bool value = false;
};
template <>
struct IsFloat<float> {
  static constexpr bool value = true;
};
template <>
struct IsFloat<double> {
  static constexpr bool value = true;
};

template <typename C>
__device__ inline C combined(Combine how, C current, C update) {
  switch (how) {
    case Combine::kReplace:
      return update;
    case Combine::kAdd:
      return static_cast<C>(current + update);
    case Combine::kMultiply:
      return static_cast<C>(current * update);
    case Combine::kMaximum:
      return maximum(current, update);
    case Combine::kMinimum:
      return minimum(current, update);
    default:
      if constexpr (IsFloat<C>::value) {
        return current;
      } else {
        return how == Combine::kAnd ? static_cast<C>(current & update)
                                    : static_cast<C>(current | update);
      }
  }
}

// Every type that the kernels below compute with, and its name in theirs.
#define SPMD_TYPES(X)                                                              \
  X(f16, F16)                                                                      \
  X(bf16, Bf16)                                                                    \
  X(f32, float)                                                                    \
  X(f64, double)                                                                   \
  X(s8, int8_t)                                                                    \
  X(s16, int16_t)                                                                  \
  X(s32, int32_t) X(s64, int64_t) X(u8, uint8_t) X(u16, uint16_t) X(u32, uint32_t) \
      X(u64, uint64_t)

}  // namespace spmd::cuda
