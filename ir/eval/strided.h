// Strided views of elements, and loops over them.
#pragma once

#include <cstddef>
#include <span>

#include "ir/literal.h"

namespace spmd::eval {

// A dimension or position as an index into a container; never negative.
inline size_t at(int64_t index) { return static_cast<size_t>(index); }

// Where elements lie in a buffer, in elements: an offset, and a stride per dimension that may be
// zero (repeat) or negative.
struct View {
  int64_t offset = 0;
  Dims strides;
};

// Of a tensor with all its elements in row-major order.
View dense_view(const Dims& shape);
// Of a literal as it is stored: a splat repeats its element.
View view_of(const Literal& literal);

// Leaves out dimensions of size 1 and joins neighbours that are contiguous in both views, keeping
// the order of elements.
void coalesce(Dims& shape, View& a, View& b);

// Calls f(offset in a, offset in b) for each row along the last dimension of `shape`, in row-major
// order; not at all when there are no elements. `shape` has at least one dimension.
template <typename F>
void for_each_row(const Dims& shape, const View& a, const View& b, F&& f) {
  for (int64_t size : shape) {
    if (size == 0) return;
  }
  const size_t outer = shape.size() - 1;
  Dims index(outer, 0);
  int64_t at_a = a.offset, at_b = b.offset;
  while (true) {
    f(at_a, at_b);
    size_t d = outer;
    for (; d > 0; --d) {
      at_a += a.strides[d - 1];
      at_b += b.strides[d - 1];
      if (++index[d - 1] < shape[d - 1]) break;
      at_a -= a.strides[d - 1] * shape[d - 1];
      at_b -= b.strides[d - 1] * shape[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

// Calls f(index) for each index of `shape` in row-major order.
template <typename F>
void for_each_index(const Dims& shape, F&& f) {
  for (int64_t size : shape) {
    if (size == 0) return;
  }
  Dims index(shape.size(), 0);
  while (true) {
    f(static_cast<const Dims&>(index));
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

// Copies `shape` elements of `element_bytes` each from one view to another.
void copy_elements(Dims shape, int64_t element_bytes, const std::byte* from, View from_view,
                   std::byte* to, View to_view);

// The block of `shape` elements that starts at `start`.
Literal slice_of(const Literal& literal, const Dims& start, const Dims& shape);
// Overwrites the block of `into` that starts at `start`.
void write_slice(Literal& into, const Dims& start, const Literal& block);
// A copy with all elements stored and its dimensions in another order: dimension i is the literal's
// `order[i]`.
Literal permuted(const Literal& literal, const Dims& order);
// All parts have the same type but for dimension `dim`.
Literal concatenate(std::span<const Literal> parts, size_t dim);

}  // namespace spmd::eval
