// reduce_window and select_and_scatter. Each thread makes one element of the result, from all that
// goes into it, in the order of the windows.
#pragma once

#include "runtime/device/cuda/kernels/common.cuh"

namespace spmd::cuda {

// Where tap `tap` of the window at `position` lies on the base, along one dimension; -1: nowhere.
__device__ inline int64_t tap_place(const WindowParameters& w, int d, int64_t position,
                                    int64_t tap) {
  const int64_t at = position * w.stride[d] + tap * w.dilation[d] - w.pad_low[d];
  if (at < 0 || at % w.base_dilation[d] != 0) return -1;
  const int64_t place = at / w.base_dilation[d];
  return place < w.base[d] ? place : -1;
}

__device__ inline uint32_t taps_of(const WindowParameters& w) {
  uint32_t taps = 1;
#pragma unroll 1
  for (int d = 0; d < w.positions.rank; ++d) taps *= static_cast<uint32_t>(w.size[d]);
  return taps;
}

// The offset on the base of a window's tap; -1: none.
__device__ inline int64_t tap_offset(const WindowParameters& w, const int64_t* position,
                                     uint32_t tap) {
  int64_t at = 0;
#pragma unroll 1
  for (int d = w.positions.rank - 1; d >= 0; --d) {
    const auto size = static_cast<uint32_t>(w.size[d]);
    const int64_t place = tap_place(w, d, position[d], tap % size);
    if (place < 0) return -1;
    at += place * w.base_strides[d];
    tap /= size;
  }
  return at;
}

__device__ inline void index_of(const Space& space, uint32_t point, int64_t* index) {
#pragma unroll 1
  for (int d = space.rank - 1; d >= 0; --d) {
    index[d] = point % space.shape[d];
    point /= space.shape[d];
  }
}

__device__ inline int64_t dot(const Space& space, const int64_t* index, const int64_t* strides) {
  int64_t at = 0;
#pragma unroll 1
  for (int d = 0; d < space.rank; ++d) at += index[d] * strides[d];
  return at;
}

template <typename T>
__device__ void reduce_window(const ReduceWindowParameters& p, const T* in, const T* init, T* out) {
  const WindowParameters& w = p.window;
  const uint32_t taps = taps_of(w);
  for (uint32_t point = first_point(); point < w.positions.count; point += point_stride()) {
    int64_t position[kMostDims];
    index_of(w.positions, point, position);
    typename Compute<T>::Type value = widen(*init);
    for (uint32_t tap = 0; tap < taps; ++tap) {
      const int64_t at = tap_offset(w, position, tap);
      if (at >= 0) value = combined(p.combine, value, widen(in[at]));
    }
    out[dot(w.positions, position, w.position_strides)] = narrow<T>(value);
  }
}

template <typename C>
__device__ inline bool keeps(Select how, C best, C element) {
  switch (how) {
    case Select::kGe:
      return best >= element;
    case Select::kGt:
      return best > element;
    case Select::kLe:
      return best <= element;
    default:
      return best < element;
  }
}

// Which element the window at `position` selects; -1: it covers none.
template <typename T>
__device__ int64_t selected(const SelectAndScatterParameters& p, const T* operand,
                            const int64_t* position, uint32_t taps) {
  int64_t best = -1;
  for (uint32_t tap = 0; tap < taps; ++tap) {
    const int64_t at = tap_offset(p.window, position, tap);
    if (at < 0) continue;
    if (best < 0 || !keeps(p.select, widen(operand[best]), widen(operand[at]))) best = at;
  }
  return best;
}

template <typename T>
__device__ void select_and_scatter(const SelectAndScatterParameters& p, const T* operand,
                                   const T* source, const T* init, T* out) {
  const WindowParameters& w = p.window;
  const uint32_t taps = taps_of(w);
  for (uint32_t point = first_point(); point < p.out.count; point += point_stride()) {
    int64_t element[kMostDims];
    index_of(p.out, point, element);
    const int64_t here = dot(p.out, element, w.base_strides);
    T value = *init;
    // Taps from the last to the first give the windows over this element from the first to the
    // last.
    for (uint32_t t = taps; t-- > 0;) {
      int64_t position[kMostDims];
      bool is_window = true;
      uint32_t left = t;
#pragma unroll 1
      for (int d = p.out.rank - 1; d >= 0; --d) {
        const auto size = static_cast<uint32_t>(w.size[d]);
        const int64_t at = element[d] * w.base_dilation[d] + w.pad_low[d] -
                           static_cast<int64_t>(left % size) * w.dilation[d];
        is_window = is_window && at >= 0 && at % w.stride[d] == 0 &&
                    at / w.stride[d] < w.positions.shape[d];
        position[d] = at / w.stride[d];
        left /= size;
      }
      if (!is_window || selected(p, operand, position, taps) != here) continue;
      const T update = source[dot(w.positions, position, w.position_strides)];
      value = narrow<T>(combined(p.combine, widen(value), widen(update)));
    }
    out[dot(p.out, element, p.out_strides)] = value;
  }
}

#define SPMD_WINDOWS(name, type)                                                          \
  extern "C" __global__ void reduce_window_##name(                                        \
      const __grid_constant__ ReduceWindowParameters p, const type* in, const type* init, \
      type* out) {                                                                        \
    reduce_window(p, in, init, out);                                                      \
  }                                                                                       \
  extern "C" __global__ void select_and_scatter_##name(                                   \
      const __grid_constant__ SelectAndScatterParameters p, const type* operand,          \
      const type* source, const type* init, type* out) {                                  \
    select_and_scatter(p, operand, source, init, out);                                    \
  }
SPMD_TYPES(SPMD_WINDOWS)

}  // namespace spmd::cuda
