#include "passes/equivalence/padded.h"

#include <algorithm>
#include <cmath>

#include "ir/evaluator.h"

namespace spmd {
namespace {

// Below the type's largest number.
double poison(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 1;
    case DType::kF8E4M3FN:
      return 224;
    case DType::kF16:
    case DType::kF8E5M2:
      return 28672;
    default:
      break;
  }
  if (!is_integer(dtype)) return 70001;
  const int bits = bit_width(dtype) - (is_signed_int(dtype) ? 1 : 0);
  return std::min(std::ldexp(1.0, bits) - 1, 1048576.0);
}

}  // namespace

Literal resized(const Literal& literal, const Dims& shape) {
  if (literal.type().shape == shape) return literal;
  const TensorType type = literal.type().with_shape(shape);
  const Literal from = literal.expanded();
  Literal to = Literal::splat(type, poison(type.dtype)).expanded();
  std::byte* out = to.mutable_data();
  const auto size = static_cast<size_t>(byte_size(type.dtype));
  const Dims from_strides = row_major_strides(from.type().shape);
  const Dims strides = row_major_strides(shape);
  for (int64_t e = 0; e < type.num_elements(); ++e) {
    int64_t rest = e, at = 0;
    bool inside = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t index = rest / strides[d];
      rest %= strides[d];
      inside = inside && index < from.type().shape[d];
      at += index * from_strides[d];
    }
    if (!inside) continue;
    std::memcpy(out + static_cast<size_t>(e) * size, from.data() + static_cast<size_t>(at) * size,
                size);
  }
  return to;
}

std::vector<Literal> evaluate_padded(const Module& module, std::span<const Literal> arguments) {
  const Function& main = module.main();
  std::vector<Literal> padded;
  for (size_t i = 0; i < arguments.size(); ++i) {
    padded.push_back(resized(arguments[i], main.type(main.arguments()[i]).shape));
  }
  std::vector<Literal> results = evaluate(module, padded);
  for (size_t i = 0; i < results.size(); ++i) {
    const std::optional<Dims>& shape = main.result_info[i].global_shape;
    if (shape) results[i] = resized(results[i], *shape);
  }
  return results;
}

}  // namespace spmd
