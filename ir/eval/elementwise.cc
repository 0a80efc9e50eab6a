// Elementwise ops. Floats of 16 bits and fewer are computed in float32 and rounded once.
#include "ir/eval/elements.h"
#include "ir/eval/elementwise_internal.h"

namespace spmd::eval {
namespace {

// Elements are moved, not computed with: only their size counts.
template <size_t kBytes>
struct Opaque {
  std::byte bytes[kBytes];
};

template <size_t kBytes>
void select_elements(const Literal& predicate, const Literal& on_true, const Literal& on_false,
                     Output& output) {
  const Elements<uint8_t> chosen(predicate);
  const Elements<Opaque<kBytes>> left(on_true), right(on_false);
  auto* to = output.as<Opaque<kBytes>>();
  for (int64_t i = 0, count = output.size(); i < count; ++i) {
    to[i] = chosen[i] != 0 ? left[i] : right[i];
  }
}

Literal select(const Literal& predicate, const Literal& on_true, const Literal& on_false) {
  const TensorType& type = on_true.type();
  // One predicate for all elements picks an operand as a whole.
  if (type.num_elements() > 0 && (predicate.is_splat() || predicate.type().shape.empty())) {
    return *predicate.as<uint8_t>() != 0 ? on_true : on_false;
  }
  Output output(type, false);
  switch (byte_size(type.dtype)) {
    case 1:
      select_elements<1>(predicate, on_true, on_false, output);
      break;
    case 2:
      select_elements<2>(predicate, on_true, on_false, output);
      break;
    case 4:
      select_elements<4>(predicate, on_true, on_false, output);
      break;
    case 8:
      select_elements<8>(predicate, on_true, on_false, output);
      break;
    case 16:
      select_elements<16>(predicate, on_true, on_false, output);
      break;
    default:
      break;
  }
  return output.take();
}

Literal complex(const Literal& re, const Literal& im, const TensorType& type) {
  Output output(type, re.is_splat() && im.is_splat());
  with_type(type.dtype, [&]<typename T>(std::type_identity<T>) {
    if constexpr (is_complex_v<T>) {
      const Elements<typename T::value_type> real(re), imaginary(im);
      T* to = output.as<T>();
      for (int64_t i = 0, count = output.size(); i < count; ++i) to[i] = T(real[i], imaginary[i]);
    }
  });
  return output.take();
}

Literal clamp(std::span<const Literal> operands, const TensorType& type) {
  const DType dtype = type.dtype;
  const Literal low = widen(operands[0]), x = widen(operands[1]), high = widen(operands[2]);
  const Literal raised = apply_binary(OpCode::kMaximum, x, low, dtype, type.shape);
  return convert(apply_binary(OpCode::kMinimum, raised, high, dtype, type.shape), dtype);
}

}  // namespace

Literal eval_elementwise(const Invocation& in) {
  const TensorType& type = in.result_type();
  const std::span<Literal> operands = in.operands;
  switch (in.op.code) {
    case OpCode::kConvert:
      return convert(operands[0], type.dtype);
    case OpCode::kSelect:
      return select(operands[0], operands[1], operands[2]);
    case OpCode::kClamp:
      return clamp(operands, type);
    case OpCode::kCompare:
      return apply_compare(in.attrs<CompareAttrs>(), widen(operands[0]), widen(operands[1]),
                           type.shape);
    case OpCode::kComplex:
      return complex(operands[0], operands[1], type);
    case OpCode::kReducePrecision:
      return convert(apply_reduce_precision(in.attrs<ReducePrecisionAttrs>(), widen(operands[0])),
                     type.dtype);
    default:
      break;
  }
  if (operands.size() == 1) {
    return convert(apply_unary(in.op.code, widen(operands[0]), type.shape), type.dtype);
  }
  return convert(apply_binary(in.op.code, widen(operands[0]), widen(operands[1]),
                              operands[0].type().dtype, type.shape),
                 type.dtype);
}

}  // namespace spmd::eval
