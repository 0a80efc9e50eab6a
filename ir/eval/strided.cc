#include "ir/eval/strided.h"

#include <cstring>

namespace spmd::eval {

View dense_view(const Dims& shape) { return {0, row_major_strides(shape)}; }

View view_of(const Literal& literal) {
  const Dims& shape = literal.type().shape;
  return literal.is_splat() ? View{0, Dims(shape.size(), 0)} : dense_view(shape);
}

void coalesce(Dims& shape, View& a, View& b) {
  size_t kept = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const bool joins = kept > 0 && a.strides[kept - 1] == a.strides[d] * shape[d] &&
                       b.strides[kept - 1] == b.strides[d] * shape[d];
    const size_t at = joins ? kept - 1 : kept++;
    shape[at] = joins ? shape[at] * shape[d] : shape[d];
    a.strides[at] = a.strides[d];
    b.strides[at] = b.strides[d];
  }
  if (kept == 0) {
    shape = {1};
    a.strides = b.strides = {1};
    return;
  }
  shape.resize(kept);
  a.strides.resize(kept);
  b.strides.resize(kept);
}

namespace {

template <size_t kBytes>
struct Block {
  std::byte bytes[kBytes];
};

template <size_t kBytes>
void copy_blocks(const Dims& shape, const std::byte* from, const View& from_view, std::byte* to,
                 const View& to_view) {
  const auto* source = reinterpret_cast<const Block<kBytes>*>(from);
  auto* target = reinterpret_cast<Block<kBytes>*>(to);
  const int64_t length = shape.back();
  const int64_t from_step = from_view.strides.back(), to_step = to_view.strides.back();
  for_each_row(shape, from_view, to_view, [&](int64_t from_at, int64_t to_at) {
    if (from_step == 1 && to_step == 1) {
      std::memcpy(target + to_at, source + from_at, static_cast<size_t>(length) * kBytes);
      return;
    }
    for (int64_t i = 0; i < length; ++i) {
      target[to_at + i * to_step] = source[from_at + i * from_step];
    }
  });
}

}  // namespace

void copy_elements(Dims shape, int64_t element_bytes, const std::byte* from, View from_view,
                   std::byte* to, View to_view) {
  coalesce(shape, from_view, to_view);
  switch (element_bytes) {
    case 1:
      return copy_blocks<1>(shape, from, from_view, to, to_view);
    case 2:
      return copy_blocks<2>(shape, from, from_view, to, to_view);
    case 4:
      return copy_blocks<4>(shape, from, from_view, to, to_view);
    case 8:
      return copy_blocks<8>(shape, from, from_view, to, to_view);
    case 16:
      return copy_blocks<16>(shape, from, from_view, to, to_view);
    default:
      return;  // tokens have no elements to copy
  }
}

Literal slice_of(const Literal& literal, const Dims& start, const Dims& shape) {
  const TensorType type = literal.type().with_shape(shape);
  if (literal.is_splat()) return Literal::splat(type, static_cast<const void*>(literal.data()));
  Literal result(type);
  View from = view_of(literal);
  for (size_t d = 0; d < shape.size(); ++d) from.offset += start[d] * from.strides[d];
  copy_elements(shape, byte_size(type.dtype), literal.data(), from, result.mutable_data(),
                dense_view(shape));
  return result;
}

void write_slice(Literal& into, const Dims& start, const Literal& block) {
  View to = dense_view(into.type().shape);
  for (size_t d = 0; d < start.size(); ++d) to.offset += start[d] * to.strides[d];
  copy_elements(block.type().shape, byte_size(into.type().dtype), block.data(), view_of(block),
                into.mutable_data(), to);
}

Literal permuted(const Literal& literal, const Dims& order) {
  const View dense = view_of(literal);
  View view;
  Dims shape;
  for (int64_t d : order) {
    shape.push_back(literal.type().dim(d));
    view.strides.push_back(dense.strides[at(d)]);
  }
  Literal result(literal.type().with_shape(shape));
  copy_elements(shape, byte_size(literal.type().dtype), literal.data(), view, result.mutable_data(),
                dense_view(shape));
  return result;
}

Literal concatenate(std::span<const Literal> parts, size_t dim) {
  TensorType type = parts[0].type();
  type.shape[dim] = 0;
  for (const Literal& part : parts) type.shape[dim] += part.type().shape[dim];
  Literal result(type);
  Dims start(type.shape.size(), 0);
  for (const Literal& part : parts) {
    write_slice(result, start, part);
    start[dim] += part.type().shape[dim];
  }
  return result;
}

}  // namespace spmd::eval
