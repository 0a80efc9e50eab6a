// reduce_window and select_and_scatter. Padding holds no elements: it contributes nothing.
#include <cstring>
#include <numeric>

#include "ir/eval/elements.h"
#include "ir/eval/eval.h"
#include "ir/eval/reducer.h"

namespace spmd::eval {
namespace {

// Window attributes, where an empty list means the default in every dimension.
struct Window {
  Dims size, stride, base_dilation, window_dilation, pad_low;
};

Window window_of(const WindowAttrs& attrs, size_t rank) {
  const auto or_default = [rank](const Dims& dims, int64_t value) {
    return dims.empty() ? Dims(rank, value) : dims;
  };
  return {or_default(attrs.size, 1), or_default(attrs.stride, 1),
          or_default(attrs.base_dilation, 1), or_default(attrs.window_dilation, 1),
          or_default(attrs.pad_low, 0)};
}

// The result positions for which one window position falls on an element: first + i * step for
// i < count. Their elements are `element` + i * element_step.
struct Hits {
  int64_t first = 0, step = 1, count = 0;
  int64_t element = 0, element_step = 0;
};

Hits hits_of(const Window& w, size_t d, int64_t position, int64_t size, int64_t result_size) {
  Hits hits;
  hits.step = w.base_dilation[d] / std::gcd(w.stride[d], w.base_dilation[d]);
  hits.element_step = w.stride[d] * hits.step / w.base_dilation[d];
  const int64_t shift = position * w.window_dilation[d] - w.pad_low[d];
  for (int64_t o = 0; o < result_size; ++o) {
    const int64_t place = o * w.stride[d] + shift;
    if (place < 0 || place % w.base_dilation[d] != 0) continue;
    const int64_t element = place / w.base_dilation[d];
    if (element >= size) break;
    if (hits.count++ == 0) {
      hits.first = o;
      hits.element = element;
    }
  }
  return hits;
}

Literals reduce_window(const Invocation& in) {
  const Reducer reducer(in, in.op.regions[0]);
  const size_t n = in.operands.size() / 2;
  const Dims& shape = in.operands[0].type().shape;
  const Dims& result_shape = in.result_type().shape;
  const Window window = window_of(in.attrs<WindowAttrs>(), shape.size());
  Literals acc, x;
  for (size_t i = 0; i < n; ++i) {
    acc.push_back(reducer.accumulator(in.operands[n + i], result_shape, i));
    x.push_back(reducer.widened(in.operands[i], i).expanded());
  }
  // One window position at a time, for all results that it concerns: each result still meets its
  // elements in row-major order.
  const View acc_dense = dense_view(result_shape), x_dense = dense_view(shape);
  for_each_index(window.size, [&](const Dims& position) {
    Dims count;
    View acc_view = acc_dense, x_view = x_dense;
    for (size_t d = 0; d < shape.size(); ++d) {
      const Hits hits = hits_of(window, d, position[d], shape[d], result_shape[d]);
      if (hits.count == 0) return;
      count.push_back(hits.count);
      acc_view.offset += hits.first * acc_view.strides[d];
      acc_view.strides[d] *= hits.step;
      x_view.offset += hits.element * x_view.strides[d];
      x_view.strides[d] *= hits.element_step;
    }
    reducer.combine(std::move(count), acc, std::move(acc_view), x, std::move(x_view));
  });
  Literals results;
  for (size_t i = 0; i < n; ++i) {
    results.push_back(Reducer::finished(acc[i], in.result_type(i).dtype));
  }
  return results;
}

// The flat index of the element that `select` keeps in the window at `index`, or -1 when the window
// covers none.
int64_t selected_element(const Invocation& in, const Literal& operand, const Window& window,
                         const Dims& index) {
  const Dims& shape = operand.type().shape;
  const DType dtype = operand.type().dtype;
  const Dims strides = row_major_strides(shape);
  const auto scalar = [&](int64_t flat) {
    return Literal::splat({dtype, {}},
                          static_cast<const void*>(operand.data() + flat * byte_size(dtype)));
  };
  int64_t selected = -1;
  for_each_index(window.size, [&](const Dims& position) {
    int64_t flat = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t place = index[d] * window.stride[d] + position[d] - window.pad_low[d];
      if (place < 0 || place >= shape[d]) return;
      flat += place * strides[d];
    }
    if (selected >= 0) {
      const Literals keep = in.call_region(in.op.regions[0], {scalar(selected), scalar(flat)});
      if (keep[0].as_int(0) != 0) return;
    }
    selected = flat;
  });
  return selected;
}

Literal select_and_scatter(const Invocation& in) {
  const Reducer reducer(in, in.op.regions[1]);
  const Literal operand = in.operands[0].expanded();
  const Literal source = reducer.widened(in.operands[1]).expanded();
  const Window window = window_of(in.attrs<WindowAttrs>(), operand.type().shape.size());
  Literals acc{reducer.accumulator(in.operands[2], operand.type().shape)};
  int64_t source_at = 0;
  for_each_index(source.type().shape, [&](const Dims& index) {
    const int64_t target = selected_element(in, operand, window, index);
    if (target >= 0) {
      reducer.combine({1}, acc, {target, {0}}, std::span(&source, 1), {source_at, {0}});
    }
    ++source_at;
  });
  return Reducer::finished(acc[0], in.result_type().dtype);
}

}  // namespace

Literals eval_window(const Invocation& in) {
  if (in.op.code == OpCode::kReduceWindow) return reduce_window(in);
  return {select_and_scatter(in)};
}

}  // namespace spmd::eval
