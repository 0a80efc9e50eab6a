// Poolings.
#include <algorithm>
#include <cmath>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"
#include "frontends/onnx/ops/windows.h"

namespace spmd::onnx {
namespace {

Dims spatial_sizes(Node& node, const Expr& x) {
  node.require(x.rank() >= 3, "its input has no spatial dimensions");
  return Dims(x.shape().begin() + 2, x.shape().end());
}

Expr reduce_window(const Expr& x, const Window& window, OpCode reducer) {
  Builder& builder = x.builder();
  const ValueId init = builder.constant(reducer_identity(reducer, x.dtype()));
  const OpId op =
      builder.create(OpCode::kReduceWindow, {x.id(), init}, reduce_window_attrs(window));
  add_reducer_region(x.writer().function(), op, reducer, x.dtype());
  return {x.writer(), x.writer().function().op(op).results[0]};
}

// At each window position along spatial dimension i, how many elements of the input (and, if
// `padding_counts`, of the padding that was asked for) the window covers.
Dims covered(const Window& window, size_t i, int64_t input, bool padding_counts) {
  const int64_t begin = padding_counts ? -window.low[i] : 0;
  const int64_t end = padding_counts ? input + window.asked_high[i] : input;
  Dims counts;
  for (int64_t p = 0; p < window.positions(i, input); ++p) {
    int64_t count = 0;
    for (int64_t k = 0; k < window.size[i]; ++k) {
      const int64_t at = p * window.stride[i] - window.low[i] + k * window.dilation[i];
      count += at >= begin && at < end;
    }
    counts.push_back(count);
  }
  return counts;
}

void average_pool(Node& node) {
  const Expr x = node.in(0);
  const Dims input = spatial_sizes(node, x);
  const Window window = window_of(node, input);
  const bool padding_counts = node.flag("count_include_pad", false);
  const Expr wide = convert(x, compute_type(x.dtype()));
  Expr average = reduce_window(wide, window, OpCode::kAdd);
  for (size_t i = 0; i < input.size(); ++i) {
    node.check_table(static_cast<double>(window.positions(i, input[i])) *
                     static_cast<double>(window.size[i]));
    const Dims counts = covered(window, i, input[i], padding_counts);
    const Expr divisor = convert(integers(node.writer(), counts), wide.dtype());
    average = average / broadcast_along(divisor, average.shape(), static_cast<int64_t>(i) + 2);
  }
  node.set(0, convert(average, x.dtype()));
}

void lp_pool(Node& node) {
  const Expr x = node.in(0);
  const double p =
      node.opset() < 2 ? node.number("p", 2) : static_cast<double>(node.integer("p", 2));
  const Window window = window_of(node, spatial_sizes(node, x));
  node.set(0, power(reduce_window(power(abs(x), p), window, OpCode::kAdd), 1 / p));
}

// ---- max pooling

// The elements that stand at place `k` of each window: [batch, channels, positions...].
Expr at_window_place(const Expr& padded, const Window& window, const Dims& k,
                     const Dims& positions) {
  Expr x = padded;
  for (size_t i = 0; i < k.size(); ++i) {
    const int64_t start = k[i] * window.dilation[i];
    const int64_t limit = start + (positions[i] - 1) * window.stride[i] + 1;
    x = slice_dim(x, static_cast<int64_t>(i) + 2, start, limit, window.stride[i]);
  }
  return x;
}

// Position of each element among all of its tensor, in row-major order, or with the spatial
// dimensions in column-major order.
Expr flat_positions(const Expr& x, bool column_major) {
  Dims strides = row_major_strides(x.shape());
  if (column_major) {
    int64_t stride = 1;
    for (size_t d = 2; d < strides.size(); ++d) {
      strides[d] = stride;
      stride *= x.shape()[d];
    }
  }
  const TensorType type{DType::kS64, x.shape()};
  Expr position = splat(x.writer(), type, 0);
  for (int64_t d = 0; d < x.rank(); ++d) {
    position =
        position + iota(x.writer(), type, d) * static_cast<double>(strides[static_cast<size_t>(d)]);
  }
  return position;
}

// Calls `visit` with every place of a window, in row-major order.
template <typename Visit>
void for_each_place(const Dims& size, Visit&& visit) {
  Dims k(size.size(), 0);
  while (true) {
    visit(k);
    size_t d = size.size();
    while (d > 0 && ++k[d - 1] == size[d - 1]) k[--d] = 0;
    if (d == 0) return;
  }
}

constexpr int64_t kMaxPlaces = 4096;

Expr max_pool_indices(Node& node, const Expr& x, const Window& window, const Dims& input) {
  int64_t places = 1;
  for (int64_t size : window.size) places *= std::min(size, kMaxPlaces + 1);
  if (places > kMaxPlaces) node.unsupported("indices of the maxima of large windows");
  Dims low(2, 0), high(2, 0), positions;
  low.insert(low.end(), window.low.begin(), window.low.end());
  high.insert(high.end(), window.high.begin(), window.high.end());
  for (size_t i = 0; i < input.size(); ++i) positions.push_back(window.positions(i, input[i]));
  const Expr padded = pad(x, lowest_value(x.dtype()), low, high);
  const Expr places_of = pad(flat_positions(x, node.flag("storage_order", false)), 0, low, high);
  Expr best, index;
  for_each_place(window.size, [&](const Dims& k) {
    const Expr value = at_window_place(padded, window, k, positions);
    const Expr place = at_window_place(places_of, window, k, positions);
    const bool is_first = !best;
    const Expr better = is_first ? Expr() : greater(value, best);
    index = is_first ? place : select(better, place, index);
    best = is_first ? value : select(better, value, best);
  });
  return index;
}

void max_pool(Node& node) {
  const Expr x = node.in(0);
  const Dims input = spatial_sizes(node, x);
  const Window window = window_of(node, input);
  node.set(0, reduce_window(x, window, OpCode::kMaximum));
  if (node.wants(1)) node.set(1, max_pool_indices(node, x, window, input));
}

// ---- whole images

Dims image_dims(Node& node, const Expr& x) {
  node.require(x.rank() >= 2, "its input has no channels");
  return dims_from(2, x.rank());
}

void global_average_pool(Node& node) {
  const Expr x = node.in(0);
  node.set(0, mean(x, image_dims(node, x), true));
}

void global_max_pool(Node& node) {
  const Expr x = node.in(0);
  node.set(0, reduce_max(x, image_dims(node, x), true));
}

void global_lp_pool(Node& node) {
  const Expr x = node.in(0);
  const double p =
      node.opset() < 2 ? node.number("p", 2) : static_cast<double>(node.integer("p", 2));
  node.set(0, power(sum(power(abs(x), p), image_dims(node, x), true), 1 / p));
}

// ---- unpooling

// Puts each element where its index says, in an otherwise zero image.
void max_unpool(Node& node) {
  const Expr x = node.in(0), indices = node.in(1);
  const Dims input = spatial_sizes(node, x);
  const Window window = window_of(node, input);
  Dims inferred(x.shape().begin(), x.shape().begin() + 2);
  for (size_t i = 0; i < input.size(); ++i) {
    inferred.push_back((input[i] - 1) * window.stride[i] - window.low[i] - window.high[i] +
                       window.size[i]);
  }
  const Dims shape = node.has(2) ? node.known_integers(2) : inferred;
  node.require(shape.size() == inferred.size(), "its output shape has another rank than its input");
  // The indices count in the image that was pooled.
  TensorType flat{x.dtype(), {1}};
  for (int64_t size : inferred) flat.shape[0] *= size;
  node.require(is_valid(flat) && flat.shape[0] >= 0, "its output is too large");
  ScatterAttrs attrs;
  attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = {0};
  attrs.index_vector_dim = 1;
  const int64_t count = x.num_elements();
  const Expr empty = splat(node.writer(), flat, 0);
  Function& fn = node.writer().function();
  const OpId op = node.writer().builder().create(
      OpCode::kScatter, {empty.id(), reshape(indices, {count}).id(), reshape(x, {count}).id()},
      std::move(attrs));
  add_reducer_region(fn, op, OpCode::kAdd, x.dtype());
  const Expr image = reshape(Expr(node.writer(), fn.op(op).results[0]), inferred);
  Dims low(shape.size(), 0), high;
  for (size_t d = 0; d < shape.size(); ++d) high.push_back(shape[d] - inferred[d]);
  node.set(0, pad(image, 0, low, high));
}

}  // namespace

std::span<const OpHandler> window_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"AveragePool", average_pool, kFloats},
      {"GlobalAveragePool", global_average_pool, kFloats},
      {"GlobalLpPool", global_lp_pool, kFloats},
      {"GlobalMaxPool", global_max_pool, kFloats},
      {"LpPool", lp_pool, kFloats},
      {"MaxPool", max_pool, kNumbers},
      {"MaxUnpool", max_unpool, kFloats},
  };
  return kOps;
}

}  // namespace spmd::onnx
