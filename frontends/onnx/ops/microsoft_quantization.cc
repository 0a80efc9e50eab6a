// Products with quantised weights of ONNX Runtime, domain com.microsoft.
#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"
#include "frontends/onnx/ops/quantizations.h"

namespace spmd::onnx {
namespace {

// The numbers of `bits` each that the bytes of x [rows, bytes] hold, the low bits first.
Expr unpacked_bits(const Expr& x, int64_t bits) {
  if (bits == 8) return x;
  const int64_t per_byte = 8 / bits;
  const TensorType type{DType::kU8, {x.dim(0), x.dim(1), per_byte}};
  const Expr shift = iota(x.writer(), type, 2) * static_cast<double>(bits);
  const Expr bytes = broadcast_in(x, type.shape, {0, 1});
  const Expr low = binary(OpCode::kShiftRightLogical, bytes, shift) &
                   splat(x.writer(), type, static_cast<double>((1 << bits) - 1));
  return reshape(low, {x.dim(0), x.dim(1) * per_byte});
}

// Each block's number [rows, blocks] for all of its elements.
Expr per_element(const Expr& x, int64_t block) {
  const Dims shape = {x.dim(0), x.dim(1), block};
  return reshape(broadcast_in(x, shape, {0, 1}), {x.dim(0), x.dim(1) * block});
}

struct Blocks {
  int64_t rows, columns, bits, size, count;
};

Blocks blocks_of(Node& node) {
  Blocks b{};
  b.rows = node.at_least(1, node.integer("N"), "its attribute N");
  b.columns = node.at_least(1, node.integer("K"), "its attribute K");
  b.bits = node.integer("bits", 4);
  b.size = node.at_least(1, node.integer("block_size"), "its attribute block_size");
  if (b.bits != 2 && b.bits != 4 && b.bits != 8) {
    node.unsupported(fmt::format("weights of {} bits", b.bits));
  }
  node.require(b.size * b.bits % 8 == 0, "its blocks are no whole bytes");
  b.count = (b.columns + b.size - 1) / b.size;
  return b;
}

// Zero points [rows, blocks]: packed as the weights are, a row in whole bytes, or one float each.
Expr zero_points(Node& node, const Blocks& b, DType wide) {
  const Expr given = node.in_or_none(3);
  if (!given) return splat(node.writer(), {wide, {b.rows, b.count}}, 1 << (b.bits - 1));
  if (is_float(given.dtype())) {
    node.require(given.num_elements() == b.rows * b.count, "its zero points do not fit its blocks");
    return convert(reshape(given, {b.rows, b.count}), wide);
  }
  const int64_t bytes = (b.count * b.bits + 7) / 8;
  node.require(given.dtype() == DType::kU8 && given.num_elements() == b.rows * bytes,
               "its zero points do not fit its blocks");
  const Expr all = unpacked_bits(reshape(given, {b.rows, bytes}), b.bits);
  return convert(slice_dim(all, 1, 0, b.count), wide);
}

// x w^T (+ bias) with weights [N, K] of few bits, in blocks along K.
void matmul_bits(Node& node) {
  const Expr x = node.in(0), weights = node.in(1), scales = node.in(2);
  if (node.has(4)) node.unsupported("rows in another order (its input g_idx)");
  if (node.integer("weight_prepacked", 0) != 0) node.unsupported("its attribute weight_prepacked");
  const Blocks b = blocks_of(node);
  const int64_t row_bytes = b.count * (b.size * b.bits / 8);
  node.require(weights.dtype() == DType::kU8 && weights.num_elements() == b.rows * row_bytes,
               "its weights do not fit its attributes N, K, bits and block_size");
  node.require(scales.num_elements() == b.rows * b.count, "its scales do not fit its blocks");
  const DType wide = compute_type(x.dtype());
  const Expr integers = convert(unpacked_bits(reshape(weights, {b.rows, row_bytes}), b.bits), wide);
  const Expr zero = per_element(zero_points(node, b, wide), b.size);
  const Expr scale = per_element(convert(reshape(scales, {b.rows, b.count}), wide), b.size);
  const Expr values = convert(slice_dim((integers - zero) * scale, 1, 0, b.columns), x.dtype());
  Expr product = matmul(x, swap_dims(values, 0, 1));
  if (const Expr bias = node.in_or_none(5)) product = product + bias;
  node.set(0, product);
}

// An i32 product times both scales, plus bias.
Expr scaled_product(const Expr& product, const Expr& a_scale, const Expr& b_scale,
                    const Expr& bias) {
  Expr result = convert(product, b_scale.dtype()) * (a_scale * b_scale);
  if (bias) result = result + bias;
  return result;
}

Expr as_row(const Expr& x) { return x.num_elements() == 1 ? reshape(x, {}) : x; }

void matmul_integer_to_float(Node& node) {
  const Expr a = node.in(0), b = node.in(1);
  if (node.in(2).num_elements() != 1) node.unsupported("one scale for each row of its input A");
  const Expr product = matmul(centered(node, a, node.in_or_none(4), a.rank() - 2),
                              centered(node, b, node.in_or_none(5), b.rank() - 1));
  node.set(0, scaled_product(product, as_row(node.in(2)), as_row(node.in(3)), node.in_or_none(6)));
}

// A is quantised to u8 by the range of its values first.
void dynamic_quantize_matmul(Node& node) {
  const Quantized a = dynamically_quantized(node.in(0));
  const Expr b = node.in(1);
  const Expr product = matmul(convert(a.value, DType::kS32) - convert(a.zero, DType::kS32),
                              centered(node, b, node.in_or_none(3), b.rank() - 1));
  node.set(0, scaled_product(product, a.scale, as_row(node.in(2)), node.in_or_none(4)));
}

}  // namespace

std::span<const OpHandler> microsoft_quantization_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"DynamicQuantizeMatMul", dynamic_quantize_matmul, kFloats, 1, kMicrosoft},
      {"MatMulIntegerToFloat", matmul_integer_to_float, kIntegers, 1, kMicrosoft},
      {"MatMulNBits", matmul_bits, kFloats, 1, kMicrosoft},
  };
  return kOps;
}

}  // namespace spmd::onnx
