// Convolution of any kind, one thread for each element of the result.
#pragma once

#include "runtime/device/cuda/kernels/common.cuh"

namespace spmd::cuda {

template <typename T>
__device__ void convolve(const ConvolutionParameters& p, const T* in, const T* kernel, T* out) {
  uint32_t taps = 1;
  for (int d = 0; d < p.spatial; ++d) taps *= static_cast<uint32_t>(p.size[d]);
  for (uint32_t point = first_point(); point < p.out.count; point += point_stride()) {
    int64_t index[kMostDims];
    uint32_t left = point;
    for (int d = p.out.rank - 1; d >= 0; --d) {
      index[d] = left % p.out.shape[d];
      left /= p.out.shape[d];
    }
    const int64_t feature = index[1];
    const int64_t group = feature / p.group_features;
    const int64_t batch =
        index[0] + (feature / p.batch_group_features) * (p.in_shape[0] / p.batch_groups);
    const T* from = in + batch * p.in_strides[0] + group * p.in_features * p.in_strides[1];
    const T* weights = kernel + feature * p.kernel_strides[0];
    typename Compute<T>::Type sum = 0;
    for (uint32_t t = 0; t < taps; ++t) {
      int64_t in_at = 0, kernel_at = 0;
      bool inside = true;
      uint32_t rest = t;
      for (int d = p.spatial - 1; d >= 0; --d) {
        const int64_t tap = rest % static_cast<uint32_t>(p.size[d]);
        rest /= static_cast<uint32_t>(p.size[d]);
        const int64_t at = index[d + 2] * p.stride[d] + tap * p.dilation[d] - p.pad_low[d];
        inside = inside && at >= 0 && at % p.base_dilation[d] == 0 &&
                 at / p.base_dilation[d] < p.in_shape[d + 2];
        in_at += at / p.base_dilation[d] * p.in_strides[d + 2];
        kernel_at += (p.reversed[d] ? p.size[d] - 1 - tap : tap) * p.kernel_strides[d + 2];
      }
      if (!inside) continue;
      for (int32_t f = 0; f < p.in_features; ++f)
        sum += widen(from[in_at + f * p.in_strides[1]]) *
               widen(weights[kernel_at + f * p.kernel_strides[1]]);
    }
    int64_t to = 0;
    for (int d = 0; d < p.out.rank; ++d) to += index[d] * p.out_strides[d];
    out[to] = narrow<T>(sum);
  }
}

#define SPMD_CONVOLUTION(name, type)                                                             \
  extern "C" __global__ void convolution_##name(const __grid_constant__ ConvolutionParameters p, \
                                                const type* in, const type* kernel, type* out) { \
    convolve(p, in, kernel, out);                                                                \
  }
SPMD_CONVOLUTION(f16, F16)
SPMD_CONVOLUTION(bf16, Bf16)
SPMD_CONVOLUTION(f32, float)
SPMD_CONVOLUTION(f64, double)

}  // namespace spmd::cuda
