#include "ir/infer/checks.h"

#include "support/error.h"

namespace spmd::infer {

[[noreturn]] void reject(const std::string& fact) { throw UserError({}, fact); }

void require_count(const Types& in, size_t count) {
  require(in.size() == count, "found {} operands, expected {}", in.size(), count);
}

void require_same_shape(const TensorType& a, const TensorType& b) {
  require(a.shape == b.shape, "shapes of {} and {} differ", a, b);
}

void require_dim(int64_t dim, int64_t rank, const char* what) {
  require(dim >= 0 && dim < rank, "{} {} is out of range for rank {}", what, dim, rank);
}

void require_dims(const Dims& dims, int64_t rank, const char* what) {
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  for (int64_t dim : dims) {
    require_dim(dim, rank, what);
    require(!seen[static_cast<size_t>(dim)], "{} {} occurs twice", what, dim);
    seen[static_cast<size_t>(dim)] = true;
  }
}

int64_t dilated(int64_t size, int64_t dilation) {
  if (size == 0) return 0;
  require(size - 1 <= kLargest / dilation, "a size of {} dilated by {} is too large", size,
          dilation);
  return (size - 1) * dilation + 1;
}

void require_padding(int64_t low, int64_t high) {
  require(low >= -kLargest && low <= kLargest && high >= -kLargest && high <= kLargest,
          "padding of {} and {} is too large", low, high);
}

int64_t window_positions(int64_t size, int64_t window, int64_t stride, int64_t low, int64_t high,
                         int64_t base_dilation, int64_t window_dilation) {
  require(stride > 0 && base_dilation > 0 && window_dilation > 0 && window > 0,
          "window sizes, strides and dilations must be positive");
  require(
      stride <= kLargestStep && base_dilation <= kLargestStep && window_dilation <= kLargestStep,
      "strides of {} or dilations of {} and {} are too large", stride, base_dilation,
      window_dilation);
  require_padding(low, high);
  const int64_t padded = low + dilated(size, base_dilation) + high;
  const int64_t extent = dilated(window, window_dilation);
  return padded < extent ? 0 : (padded - extent) / stride + 1;
}

DType real_type(DType dtype) {
  return dtype == DType::kC64 ? DType::kF32 : dtype == DType::kC128 ? DType::kF64 : dtype;
}

}  // namespace spmd::infer
