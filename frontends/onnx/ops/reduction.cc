// Reductions, positions of extremes, cumulative sums.
#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

struct Reduction {
  Dims dims;
  bool keep = true;
};

// `since_input`: the opset from which on the axes are an input.
Reduction reduction_of(Node& node, const Expr& x, int since_input) {
  const Dims axes = node.axes(axes_of(node, 1, since_input).value_or(Dims{}), x.rank());
  const bool none = axes.empty() && node.flag("noop_with_empty_axes", false);
  return {axes.empty() && !none ? dims_from(0, x.rank()) : axes, node.flag("keepdims", true)};
}

template <OpCode code>
void plain(Node& node) {
  const Expr x = node.in(0);
  const Reduction r = reduction_of(node, x, code == OpCode::kAdd ? 13 : 18);
  OpCode reducer = code;
  if (x.dtype() == DType::kBool) reducer = code == OpCode::kMaximum ? OpCode::kOr : OpCode::kAnd;
  node.set(0, reduce(x, r.dims, reducer, r.keep));
}

void reduce_mean(Node& node) {
  const Expr x = node.in(0);
  const Reduction r = reduction_of(node, x, 18);
  node.set(0, mean(x, r.dims, r.keep));
}

void reduce_l1(Node& node) {
  const Expr x = node.in(0);
  const Reduction r = reduction_of(node, x, 18);
  node.set(0, sum(is_unsigned_int(x.dtype()) ? x : abs(x), r.dims, r.keep));
}

void reduce_l2(Node& node) {
  const Expr x = node.in(0);
  const Reduction r = reduction_of(node, x, 18);
  const Expr squares = sum(x * x, r.dims, r.keep);
  const bool integral = is_integer(x.dtype());
  node.set(0, integral ? convert(sqrt(convert(squares, DType::kF64)), x.dtype()) : sqrt(squares));
}

void reduce_sum_square(Node& node) {
  const Expr x = node.in(0);
  const Reduction r = reduction_of(node, x, 18);
  node.set(0, sum(x * x, r.dims, r.keep));
}

// A function of floats, for which integers are converted and back.
template <typename Function>
void through_floats(Node& node, Function&& function) {
  const Expr x = node.in(0);
  const Reduction r = reduction_of(node, x, 18);
  if (!is_integer(x.dtype())) return node.set(0, function(x, r));
  node.set(0, convert(function(convert(x, DType::kF64), r), x.dtype()));
}

void reduce_log_sum(Node& node) {
  through_floats(node,
                 [](const Expr& x, const Reduction& r) { return log(sum(x, r.dims, r.keep)); });
}

void reduce_log_sum_exp(Node& node) {
  through_floats(node, [](const Expr& x, const Reduction& r) {
    // What is subtracted must be finite, or infinities would make NaN.
    const Expr largest = reduce_max(x, r.dims, true);
    const Expr shift = select(is_finite(largest), largest, 0.0);
    const Expr result = log(sum(exp(x - shift), r.dims, true)) + shift;
    if (r.keep) return result;
    return reshape(result, sum(x, r.dims, false).shape());
  });
}

template <bool smallest>
void index_of_extreme(Node& node) {
  const Expr x = node.in(0);
  const int64_t dim = node.axis(node.integer("axis", 0), x.rank());
  const bool last = node.flag("select_last_index", false);
  Expr values = x;
  if (smallest) {  // of integers, the complement reverses the order without overflow
    values = is_float(x.dtype()) ? -x : bitwise_not(x);
  }
  const Expr index = index_of_largest(values, dim, last);
  node.set(0, node.flag("keepdims", true) ? unsqueeze(index, dim) : index);
}

template <OpCode reducer>
void cumulative_op(Node& node) {
  const Expr x = node.in(0);
  const int64_t dim = node.axis(node.known_integer(1), x.rank());
  node.set(0,
           cumulative(x, dim, reducer, node.flag("exclusive", false), node.flag("reverse", false)));
}

}  // namespace

std::span<const OpHandler> reduction_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"ArgMax", index_of_extreme<false>, kNumbers},
      {"ArgMin", index_of_extreme<true>, kNumbers},
      {"CumProd", cumulative_op<OpCode::kMultiply>, kNumbers},
      {"CumSum", cumulative_op<OpCode::kAdd>, kNumbers},
      {"ReduceL1", reduce_l1, kNumbers},
      {"ReduceL2", reduce_l2, kNumbers},
      {"ReduceLogSum", reduce_log_sum, kNumbers},
      {"ReduceLogSumExp", reduce_log_sum_exp, kNumbers},
      {"ReduceMax", plain<OpCode::kMaximum>},
      {"ReduceMean", reduce_mean, kNumbers},
      {"ReduceMin", plain<OpCode::kMinimum>},
      {"ReduceProd", plain<OpCode::kMultiply>, kNumbers},
      {"ReduceSum", plain<OpCode::kAdd>, kNumbers},
      {"ReduceSumSquare", reduce_sum_square, kNumbers},
  };
  return kOps;
}

}  // namespace spmd::onnx
