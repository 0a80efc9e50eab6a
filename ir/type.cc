#include "ir/type.h"

namespace spmd {

std::string to_string(const TensorType& type) {
  std::string text = "tensor<";
  for (int64_t size : type.shape) text += (size == kDynamic ? "?" : std::to_string(size)) + "x";
  text += name_of(type.dtype);
  text += ">";
  return text;
}

Dims row_major_strides(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

}  // namespace spmd
