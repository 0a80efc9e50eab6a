#include "frontends/onnx/ops/common.h"

#include <cmath>
#include <numbers>

namespace spmd::onnx {

std::optional<Dims> axes_of(Node& node, int input, int since_input, std::string_view name) {
  if (node.opset() < since_input) return node.integers(name);
  if (!node.has(input)) return std::nullopt;
  return node.known_integers(input);
}

Dims dims_from(int64_t first, int64_t rank) {
  Dims dims;
  for (int64_t d = first; d < rank; ++d) dims.push_back(d);
  return dims;
}

Expr index_of_largest(const Expr& x, int64_t dim, bool last) {
  const Expr largest = reduce_max(x, {dim}, true);
  Expr found = equal(x, largest);
  if (is_float(x.dtype())) found = found | is_nan(x);
  const Expr positions = iota(x.writer(), {DType::kS64, x.shape()}, dim);
  return last ? reduce_max(select(found, positions, -1.0), {dim})
              : reduce(select(found, positions, static_cast<double>(x.dim(dim))), {dim},
                       OpCode::kMinimum);
}

Expr one_hot(const Expr& indices, int64_t depth, int64_t dim) {
  const Expr wide = unsqueeze(indices, dim);
  Dims shape = wide.shape();
  shape[static_cast<size_t>(dim)] = depth;
  const Expr positions = iota(indices.writer(), {indices.dtype(), shape}, dim);
  return equal(broadcast_to(wide, shape), positions);
}

Expr flatten(const Expr& x, int64_t axis) {
  int64_t rows = 1, columns = 1;
  for (int64_t d = 0; d < x.rank(); ++d) (d < axis ? rows : columns) *= x.dim(d);
  return reshape(x, {rows, columns});
}

Expr per_channel(const Expr& x, const Expr& values, int64_t channel_dim) {
  return broadcast_along(values, x.shape(), channel_dim);
}

Expr cumulative(const Expr& x, int64_t dim, OpCode reducer, bool exclusive, bool backward) {
  const auto at = static_cast<size_t>(dim);
  const int64_t size = x.dim(dim);
  if (x.num_elements() == 0) return x;
  WindowAttrs window;
  for (Dims* ones :
       {&window.size, &window.stride, &window.base_dilation, &window.window_dilation}) {
    ones->assign(x.shape().size(), 1);
  }
  window.pad_low.assign(x.shape().size(), 0);
  window.pad_high = window.pad_low;
  window.size[at] = size;
  // Exclusive sums are those of the elements shifted by one.
  (backward ? window.pad_high : window.pad_low)[at] = exclusive ? size : size - 1;
  if (exclusive) (backward ? window.pad_low : window.pad_high)[at] = -1;
  Builder& builder = x.builder();
  const ValueId init = builder.constant(reducer_identity(reducer, x.dtype()));
  const OpId op = builder.create(OpCode::kReduceWindow, {x.id(), init}, std::move(window));
  add_reducer_region(x.writer().function(), op, reducer, x.dtype());
  return {x.writer(), x.writer().function().op(op).results[0]};
}

double lowest_value(DType dtype) { return reducer_identity(OpCode::kMaximum, dtype).as_double(0); }
double highest_value(DType dtype) { return reducer_identity(OpCode::kMinimum, dtype).as_double(0); }

DType compute_type(DType dtype) {
  return is_float(dtype) && byte_size(dtype) < 4 ? DType::kF32 : dtype;
}

Expr gelu(const Expr& x) { return x * 0.5 * (1.0 + erf(x * std::numbers::sqrt2 * 0.5)); }

Expr gelu_tanh(const Expr& x) {
  const double scale = std::sqrt(2 / std::numbers::pi);
  return x * 0.5 * (1.0 + tanh((x + x * x * x * 0.044715) * scale));
}

// log(1 + exp(x)) without overflow.
Expr softplus(const Expr& x) { return max(x, 0.0) + log1p(exp(-abs(x))); }

Expr sigmoid(const Expr& x) { return logistic(x); }

}  // namespace spmd::onnx
