// Shape ops: they move elements, or make them from nothing.
#include <cstring>

#include "ir/eval/elements.h"
#include "ir/eval/eval.h"
#include "ir/eval/strided.h"

namespace spmd::eval {
namespace {

Literal splat_as(const Literal& literal, const TensorType& type) {
  return Literal::splat(type, static_cast<const void*>(literal.data()));
}

// A result whose every element is read from `from`, laid out as `view` says.
Literal gather_view(const Literal& from, const View& view, const TensorType& type) {
  Literal result(type);
  copy_elements(type.shape, byte_size(type.dtype), from.data(), view, result.mutable_data(),
                dense_view(type.shape));
  return result;
}

Literal broadcast(const Literal& x, const Dims& dims, const TensorType& type) {
  if (x.is_splat() || x.type().num_elements() == 1) return splat_as(x, type);
  const View dense = view_of(x);
  View view{0, Dims(type.shape.size(), 0)};
  for (size_t d = 0; d < dims.size(); ++d) {
    if (x.type().shape[d] != 1) view.strides[at(dims[d])] = dense.strides[d];
  }
  return gather_view(x, view, type);
}

Literal slice(const Literal& x, const SliceAttrs& attrs, const TensorType& type) {
  if (x.is_splat()) return splat_as(x, type);
  View view = view_of(x);
  for (size_t d = 0; d < view.strides.size(); ++d) {
    view.offset += attrs.start[d] * view.strides[d];
    view.strides[d] *= attrs.stride[d];
  }
  return gather_view(x, view, type);
}

Literal reverse(const Literal& x, const Dims& dims, const TensorType& type) {
  if (x.is_splat()) return x;
  View view = view_of(x);
  for (int64_t d : dims) {
    view.offset += (type.shape[at(d)] - 1) * view.strides[at(d)];
    view.strides[at(d)] = -view.strides[at(d)];
  }
  return gather_view(x, view, type);
}

// Every element of the operand whose place in the result lies within it is written there.
Literal pad(const Literal& x, const Literal& padding, const PadAttrs& attrs,
            const TensorType& type) {
  Literal result = splat_as(padding, type);
  View from = view_of(x), to = dense_view(type.shape);
  Dims count(type.shape.size());
  for (size_t d = 0; d < count.size(); ++d) {
    const int64_t step = attrs.interior[d] + 1, low = attrs.low[d];
    const int64_t first = low < 0 ? (-low + step - 1) / step : 0;
    // The last index that stays below the result's size.
    const int64_t room = type.shape[d] - 1 - low;
    const int64_t last = room < 0 ? -1 : std::min(x.type().shape[d] - 1, room / step);
    count[d] = std::max<int64_t>(0, last - first + 1);
    if (count[d] == 0) return result;
    from.offset += first * from.strides[d];
    to.offset += (low + first * step) * to.strides[d];
    to.strides[d] *= step;
  }
  copy_elements(count, byte_size(type.dtype), x.data(), from, result.mutable_data(), to);
  return result;
}

Literal iota(int64_t dim, const TensorType& type) {
  // One run of numbers along `dim`, repeated along the others.
  const int64_t size = type.shape[at(dim)];
  Literal numbers({DType::kS64, {size}});
  int64_t* to = numbers.mutable_as<int64_t>();
  for (int64_t i = 0; i < size; ++i) to[i] = i;
  return broadcast(convert(numbers, type.dtype), {dim}, type);
}

// Elements as tightly packed bits: 4-bit elements two a byte, the first in the low half.
std::vector<std::byte> packed(const Literal& x) {
  const Literal full = x.expanded();
  std::vector<std::byte> bytes(full.data(), full.data() + full.stored_bytes());
  if (bit_width(x.type().dtype) != 4) return bytes;
  std::vector<std::byte> halved(bytes.size() / 2);
  for (size_t i = 0; i < halved.size(); ++i) {
    halved[i] = (bytes[2 * i] & std::byte{15}) | bytes[2 * i + 1] << 4;
  }
  return halved;
}

Literal bitcast(const Literal& x, const TensorType& type) {
  const int from_width = bit_width(x.type().dtype), to_width = bit_width(type.dtype);
  if (from_width == to_width && from_width != 4) {
    if (x.is_splat()) return splat_as(x, type);
    return Literal(type, std::vector<std::byte>(x.data(), x.data() + x.stored_bytes()));
  }
  if (from_width == to_width) return convert(x, type.dtype);  // between the 4-bit integers
  const std::vector<std::byte> bytes = packed(x);
  if (to_width != 4) return Literal(type, bytes);
  Literal result(type);
  uint8_t* to = result.mutable_as<uint8_t>();
  for (size_t i = 0; i < 2 * bytes.size(); ++i) {
    const auto half = static_cast<uint8_t>(bytes[i / 2] >> (i % 2 == 0 ? 0 : 4)) & 15;
    to[i] = static_cast<uint8_t>(wrap_to(type.dtype, static_cast<int8_t>(half)));
  }
  return result;
}

}  // namespace

Literal eval_shape(const Invocation& in) {
  const TensorType& type = in.result_type();
  const std::span<Literal> operands = in.operands;
  switch (in.op.code) {
    case OpCode::kConstant:
      return in.attrs<ConstantAttrs>().value;
    case OpCode::kIota:
      return iota(in.attrs<IotaAttrs>().dim, type);
    case OpCode::kReshape:
      return operands[0].reshaped(type.shape);
    case OpCode::kBitcastConvert:
      return bitcast(operands[0], type);
    case OpCode::kBroadcastInDim:
      return broadcast(operands[0], in.attrs<BroadcastInDimAttrs>().dims, type);
    case OpCode::kConcatenate:
      return concatenate(operands, at(in.attrs<ConcatenateAttrs>().dim));
    case OpCode::kPad:
      return pad(operands[0], operands[1], in.attrs<PadAttrs>(), type);
    case OpCode::kReverse:
      return reverse(operands[0], in.attrs<ReverseAttrs>().dims, type);
    case OpCode::kSlice:
      return slice(operands[0], in.attrs<SliceAttrs>(), type);
    case OpCode::kTranspose:
      if (operands[0].is_splat()) return splat_as(operands[0], type);
      return permuted(operands[0], in.attrs<TransposeAttrs>().permutation);
    default:
      SPMD_UNREACHABLE("{} is no shape op", name_of(in.op.code));
  }
}

}  // namespace spmd::eval
