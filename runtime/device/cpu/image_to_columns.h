// Convolution as a matrix product.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/device/cpu/gemm.h"
#include "runtime/device/cpu/onednn.h"
#include "runtime/device/cpu/tile_program.h"

namespace spmd::cpu {

// Reads windows of one image and group into a matrix [features * window, positions], for a matrix
// product with the kernel.
class ImageToColumns : public ConvolutionCall {
 public:
  // `columns`: room for the matrix, found in the workspace by the caller.
  ImageToColumns(const ConvolutionProblem& problem, Lane lane) : p_(problem), lane_(lane) {
    bytes_ = lane_bytes(lane);
    spatial_.assign(p_.out.begin() + 2, p_.out.end());
    window_.assign(p_.kernel.begin() + 2, p_.kernel.end());
    positions_ = product(spatial_);
    depth_ = p_.kernel[1] * product(window_);
    GemmProblem g;
    g.lane = lane;
    g.m = p_.kernel[0] / p_.groups;
    g.n = positions_;
    g.k = depth_;
    g.lhs_m = depth_;
    g.lhs_k = 1;
    g.rhs_n = 1;
    g.rhs_k = positions_;
    g.out_m = p_.out_strides[1];
    g.out_n = 1;
    gemm_ = make_gemm(g);
  }

  // The kernel must be dense by rows; the result too, except for its batch and feature strides.
  int64_t columns_bytes() const { return depth_ * positions_ * bytes_; }
  void set_columns(std::byte* columns) { columns_ = columns; }

  void run(const void* input, const void* kernel, void* out) override {
    const int64_t features = p_.kernel[1], outs = p_.kernel[0] / p_.groups;
    for (int64_t n = 0; n < p_.out[0]; ++n)
      for (int64_t g = 0; g < p_.groups; ++g) {
        fill(static_cast<const std::byte*>(input) +
             (n * p_.input_strides[0] + g * features * p_.input_strides[1]) * bytes_);
        gemm_->run(static_cast<const std::byte*>(kernel) + g * outs * depth_ * bytes_, columns_,
                   static_cast<std::byte*>(out) +
                       (n * p_.out_strides[0] + g * outs * p_.out_strides[1]) * bytes_);
      }
  }

 private:
  static int64_t product(const std::vector<int64_t>& dims) {
    int64_t result = 1;
    for (int64_t size : dims) result *= size;
    return result;
  }

  void fill(const std::byte* image) {
    std::byte* row = columns_;
    std::vector<int64_t> tap(window_.size(), 0);
    for (int64_t c = 0; c < p_.kernel[1]; ++c) {
      std::fill(tap.begin(), tap.end(), 0);
      do {
        fill_row(image + c * p_.input_strides[1] * bytes_, tap, row);
        row += positions_ * bytes_;
      } while (advance(tap, window_));
    }
  }

  static bool advance(std::vector<int64_t>& index, const std::vector<int64_t>& shape) {
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) return true;
      index[d] = 0;
    }
    return false;
  }

  // One element of the window, at all positions.
  void fill_row(const std::byte* plane, const std::vector<int64_t>& tap, std::byte* row) {
    std::vector<int64_t>& position = position_;
    position.assign(spatial_.size(), 0);
    do {
      bool inside = true;
      int64_t offset = 0;
      for (size_t d = 0; d < spatial_.size(); ++d) {
        const int64_t at = position[d] * p_.stride[d] + tap[d] * p_.dilation[d] - p_.pad_low[d];
        inside = inside && at >= 0 && at < p_.input[d + 2];
        offset += at * p_.input_strides[d + 2];
      }
      if (inside) {
        std::memcpy(row, plane + offset * bytes_, static_cast<size_t>(bytes_));
      } else {
        std::memset(row, 0, static_cast<size_t>(bytes_));
      }
      row += bytes_;
    } while (advance(position, spatial_));
  }

  ConvolutionProblem p_;
  Lane lane_;
  int64_t bytes_ = 0, positions_ = 0, depth_ = 0;
  std::vector<int64_t> spatial_, window_, position_;
  std::unique_ptr<Gemm> gemm_;
  std::byte* columns_ = nullptr;
};

}  // namespace spmd::cpu
