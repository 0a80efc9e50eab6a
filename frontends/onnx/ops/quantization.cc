// Quantised tensors and products.
#include <cmath>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"
#include "frontends/onnx/ops/convolutions.h"
#include "frontends/onnx/ops/quantizations.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

// Scale or zero point as a tensor beside x: one number, one per element of `axis`, or one per block
// along it.
Expr beside(Node& node, const Expr& parameter, const Expr& x, int64_t axis) {
  if (parameter.num_elements() == 1 && parameter.rank() <= 1) {
    return broadcast_in(reshape(parameter, {}), x.shape(), {});
  }
  if (parameter.rank() == 1) {
    node.require(x.rank() > 0 && parameter.dim(0) == x.dim(axis),
                 "its scales do not fit their axis");
    return broadcast_along(parameter, x.shape(), axis);
  }
  const int64_t block = node.integer("block_size", 0);
  node.require(block > 0 && parameter.rank() == x.rank(), "its scales do not fit its input");
  Dims wide = parameter.shape(), dims = dims_from(0, x.rank()), merged = parameter.shape();
  wide.insert(wide.begin() + axis + 1, block);
  for (int64_t d = axis + 1; d < x.rank(); ++d) ++dims[static_cast<size_t>(d)];
  merged[static_cast<size_t>(axis)] *= block;
  const Expr repeated = reshape(broadcast_in(parameter, wide, dims), merged);
  node.require(repeated.dim(axis) >= x.dim(axis), "its blocks do not fill their axis");
  return slice_dim(repeated, axis, 0, x.dim(axis));
}

int64_t axis_of(Node& node, const Expr& x) {
  return x.rank() == 0 ? 0 : node.axis(node.integer("axis", 1), std::max<int64_t>(x.rank(), 2));
}

// A float rounded and clamped to an integer type.
Expr saturated(const Expr& x, DType to) {
  return convert(clamp(lowest_value(to), x, highest_value(to)), to);
}

// x / scale, rounded, around the zero point.
Expr quantized(const Expr& x, const Expr& scale, const Expr& zero, DType to) {
  const Expr ratio = x / scale;
  if (!is_integer(to)) {  // float8: saturates
    const double largest = to == DType::kF8E4M3FN ? 448 : 57344;
    return convert(clamp(-largest, ratio, largest), to);
  }
  const Expr rounded = round_even(ratio);
  return saturated(zero ? rounded + convert(zero, rounded.dtype()) : rounded, to);
}

void quantize_linear(Node& node) {
  const Expr x = node.in(0);
  const Expr wide = convert(x, compute_type(is_float(x.dtype()) ? x.dtype() : DType::kF32));
  const int64_t axis = std::min(axis_of(node, x), std::max<int64_t>(x.rank() - 1, 0));
  const Expr scale = beside(node, convert(node.in(1), wide.dtype()), wide, axis);
  Expr zero = node.in_or_none(2);
  DType to = DType::kU8;
  if (node.has_attribute("output_dtype") && node.integer("output_dtype") != 0) {
    to = node.dtype("output_dtype");
  }
  if (zero) {
    to = zero.dtype();
    zero = beside(node, zero, wide, axis);
  }
  node.set(0, quantized(wide, scale, zero, to));
}

void dequantize_linear(Node& node) {
  const Expr x = node.in(0), scale = node.in(1);
  const int64_t axis = std::min(axis_of(node, x), std::max<int64_t>(x.rank() - 1, 0));
  const DType wide = compute_type(scale.dtype());
  Expr value = convert(x, wide);
  if (const Expr zero = node.in_or_none(2)) {
    if (x.dtype() == DType::kS32) {
      value = convert(x - beside(node, zero, x, axis), wide);
    } else {
      value = value - beside(node, convert(zero, wide), value, axis);
    }
  }
  const DType result = node.has_attribute("output_dtype") && node.integer("output_dtype") != 0
                           ? node.dtype("output_dtype")
                           : scale.dtype();
  node.set(0, convert(value * beside(node, convert(scale, wide), value, axis), result));
}

void dynamic_quantize_linear(Node& node) {
  const Quantized q = dynamically_quantized(node.in(0));
  node.set(0, q.value);
  node.set(1, q.scale);
  node.set(2, q.zero);
}

// ---- products

void matmul_integer(Node& node) {
  const Expr a = node.in(0), b = node.in(1);
  const Expr x = centered(node, a, node.in_or_none(2), std::max<int64_t>(a.rank() - 2, 0));
  const Expr y = centered(node, b, node.in_or_none(3), b.rank() - 1);
  node.set(0, matmul(x, y));
}

void conv_integer(Node& node) {
  const Expr x = node.in(0), kernel = node.in(1);
  node.set(0, convolve(node, centered(node, x, node.in_or_none(2), 1),
                       centered(node, kernel, node.in_or_none(3), 0)));
}

// An i32 product times the product of the operands' scales, quantised again. `dim` is where the
// second operand's scales, and the result's, lie if they are several.
Expr requantized(Node& node, const Expr& product, const Expr& scales, const Expr& scale,
                 const Expr& zero, int64_t dim) {
  const auto spread = [&](const Expr& x) {
    const Expr wide = convert(x, DType::kF32);
    if (x.num_elements() == 1) return broadcast_in(reshape(wide, {}), product.shape(), {});
    node.require(x.rank() == 1 && x.dim(0) == product.dim(dim), "a scale does not fit its tensor");
    return broadcast_along(wide, product.shape(), dim);
  };
  const Expr value = convert(product, DType::kF32) * spread(scales) / spread(scale);
  return saturated(round_even(value) + spread(zero), zero.dtype());
}

void qlinear_matmul(Node& node) {
  const Expr a = node.in(0), b = node.in(3), result_zero = node.in(7);
  const Expr product = matmul(centered(node, a, node.in(2), std::max<int64_t>(a.rank() - 2, 0)),
                              centered(node, b, node.in(5), b.rank() - 1));
  const Expr scales = convert(node.in(1), DType::kF32) * convert(node.in(4), DType::kF32);
  node.set(0, requantized(node, product, scales, node.in(6), result_zero, product.rank() - 1));
}

void qlinear_conv(Node& node) {
  const Expr x = node.in(0), kernel = node.in(3);
  Expr product =
      convolve(node, centered(node, x, node.in(2), 1), centered(node, kernel, node.in(5), 0));
  if (const Expr bias = node.in_or_none(8)) product = product + per_channel(product, bias);
  const Expr scales = reshape(node.in(1), {}) * node.in(4);
  node.set(0, requantized(node, product, scales, node.in(6), node.in(7), 1));
}

}  // namespace

Quantized dynamically_quantized(const Expr& x) {
  const Dims all = dims_from(0, x.rank());
  const Expr high = max(reduce_max(x, all), 0.0);
  const Expr low = min(reduce(x, all, OpCode::kMinimum), 0.0);
  const Expr scale = (high - low) / 255.0;
  const Expr zero = clamp(0, round_even(0.0 - low / scale), 255);
  const Expr value =
      round_even(x / broadcast_in(scale, x.shape(), {})) + broadcast_in(zero, x.shape(), {});
  return {convert(clamp(0, value, 255), DType::kU8), scale, convert(zero, DType::kU8)};
}

Expr centered(Node& node, const Expr& x, const Expr& zero, int64_t dim) {
  const Expr wide = convert(x, DType::kS32);
  if (!zero) return wide;
  const Expr offset = convert(zero, DType::kS32);
  if (offset.num_elements() == 1) return wide - broadcast_in(reshape(offset, {}), x.shape(), {});
  if (offset.rank() == 1) {
    node.require(offset.dim(0) == x.dim(dim), "a zero point does not fit its tensor");
    return wide - broadcast_along(offset, x.shape(), dim);
  }
  return wide - offset;
}

std::span<const OpHandler> quantization_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"ConvInteger", conv_integer, kIntegers},
      {"DequantizeLinear", dequantize_linear, kNumbers},
      {"DequantizeLinear", dequantize_linear, kNumbers, 1, kMicrosoft},
      {"DynamicQuantizeLinear", dynamic_quantize_linear, kFloats},
      {"MatMulInteger", matmul_integer, kIntegers},
      {"QLinearConv", qlinear_conv, kIntegers},
      {"QLinearMatMul", qlinear_matmul, kNumbers},
      {"QuantizeLinear", quantize_linear, kNumbers},
      {"QuantizeLinear", quantize_linear, kNumbers, 1, kMicrosoft},
  };
  return kOps;
}

}  // namespace spmd::onnx
