// TensorType: element type and shape of a value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/dtype.h"

namespace spmd {

using Dims = std::vector<int64_t>;

// A size not known at compile time. Types and the schema have room for it; verify() refuses it.
inline constexpr int64_t kDynamic = -1;

struct TensorType {
  DType dtype = DType::kF32;
  Dims shape;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t dim(int64_t i) const { return shape[static_cast<size_t>(i)]; }
  int64_t num_elements() const {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    return count;
  }
  int64_t num_bytes() const { return num_elements() * byte_size(dtype); }
  bool operator==(const TensorType&) const = default;
  TensorType with_shape(Dims new_shape) const { return {dtype, std::move(new_shape)}; }
  TensorType with_dtype(DType new_dtype) const { return {new_dtype, shape}; }
};

// What readers accept: at most this many dimensions and bytes, so that sizes never overflow.
inline constexpr int64_t kMaxRank = 64;
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 50;

// Sizes of 0 or more, or kDynamic, within the limits.
bool is_valid(const TensorType& type);

// "tensor<8x4xf32>"
std::string to_string(const TensorType& type);

// Row-major strides in elements.
Dims row_major_strides(const Dims& shape);

}  // namespace spmd
