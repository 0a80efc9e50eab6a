// Tensors in host memory, as files and other engines hand them over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/dtype.h"

namespace spmd {

// Dense and row-major; the memory is somebody else's.
struct TensorView {
  plan::DType dtype = plan::INVALID;
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;

  int64_t num_elements() const {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    return count;
  }
  int64_t num_bytes() const { return num_elements() * plan::byte_size(dtype); }
};

struct Tensor {
  plan::DType dtype = plan::INVALID;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  TensorView view() const { return {dtype, shape, bytes.data()}; }
};

// Whether a tensor of shape `found` holds a value of shape `expected`: equal, or one element for a
// scalar, as exporters write it whose tensors have at least one dimension.
bool holds_shape(const std::vector<int64_t>& found, const std::vector<int64_t>& expected);

// "f32[8,4]"
std::string describe(plan::DType dtype, const std::vector<int64_t>& shape);

// What to do about a tensor of another element type: "convert it, in Python:
// tensor.astype("float32")".
std::string remedy_for_type(plan::DType wanted);

// One element as a number: integers and floats as they are, booleans 0 or 1, complex numbers their
// real part.
double element_as_double(plan::DType dtype, const std::byte* element);

}  // namespace spmd
