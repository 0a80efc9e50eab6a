#include "ir/type.h"

#include <algorithm>

namespace spmd {

bool is_valid(const TensorType& type) {
  if (type.rank() > kMaxRank) return false;
  int64_t most = kMaxTensorBytes / std::max<int64_t>(byte_size(type.dtype), 1);
  for (int64_t size : type.shape) {
    if (size < 0 && size != kDynamic) return false;
    if (size > most) return false;
    most /= std::max<int64_t>(size, 1);
  }
  return true;
}

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
