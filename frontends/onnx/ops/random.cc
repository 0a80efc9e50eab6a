// Random numbers, and dropout.
#include <cmath>
#include <numbers>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

// Uniform in [0, 1), of float32's 24 bits.
Expr uniform(Node& node, const Dims& shape) {
  Writer& writer = node.writer();
  const Expr bits = node.importer().random_bits(shape);
  const Expr high = binary(OpCode::kShiftRightLogical, bits, splat(writer, bits.type(), 8));
  return convert(high, DType::kF32) * std::ldexp(1.0, -24);
}

// Box and Muller's: standard normal.
Expr normal(Node& node, const Dims& shape) {
  const Expr radius = sqrt(log(1.0 - uniform(node, shape)) * -2.0);
  return radius * cosine(uniform(node, shape) * (2 * std::numbers::pi));
}

TensorType result_type(Node& node, bool like) {
  TensorType type;
  if (like) {
    type = node.in(0).type();
    if (!is_float(type.dtype)) type.dtype = DType::kF32;
  } else {
    type.shape = node.integers("shape").value_or(Dims{});
    for (int64_t size : type.shape) node.require(size >= 0, "its shape has a negative size");
    node.require(is_valid(type), "its shape is too large");
  }
  if (node.has_attribute("dtype")) type.dtype = node.dtype("dtype");
  return type;
}

template <bool like>
void random_uniform(Node& node) {
  const TensorType type = result_type(node, like);
  const double low = node.number("low", 0), high = node.number("high", 1);
  node.set(0, convert(uniform(node, type.shape) * (high - low) + low, type.dtype));
}

template <bool like>
void random_normal(Node& node) {
  const TensorType type = result_type(node, like);
  const double mean = node.number("mean", 0), scale = node.number("scale", 1);
  node.set(0, convert(normal(node, type.shape) * scale + mean, type.dtype));
}

void bernoulli(Node& node) {
  const Expr x = node.in(0);
  const DType dtype = node.has_attribute("dtype") ? node.dtype("dtype") : x.dtype();
  node.set(0, convert(less(uniform(node, x.shape()), convert(x, DType::kF32)), dtype));
}

// The class that each of the draws takes, from unnormalised log-probabilities: the largest after
// Gumbel noise was added.
void multinomial(Node& node) {
  const Expr x = convert(node.in(0), DType::kF32);
  node.require(x.rank() == 2, "its input has not two dimensions");
  const int64_t draws =
      node.at_least(1, node.integer("sample_size", 1), "its attribute sample_size");
  const Dims shape = {x.dim(0), draws, x.dim(1)};
  node.require(is_valid({DType::kF32, shape}), "it draws too much");
  const Expr noise = -log(-log(max(uniform(node, shape), std::ldexp(1.0, -25))));
  const Expr winner = index_of_largest(noise + broadcast_in(x, shape, {0, 2}), 2);
  node.set(0, convert(winner, node.has_attribute("dtype") ? node.dtype("dtype") : DType::kS32));
}

void dropout(Node& node) {
  const Expr x = node.in(0);
  double ratio = node.number("ratio", 0.5);
  bool training = false;
  if (node.opset() >= 12) {
    if (node.has(1)) ratio = node.known_numbers(1).at(0);
    training = node.has(2) && node.known_boolean(2);
  } else if (node.opset() < 7) {
    training = !node.flag("is_test", true);
  }
  node.require(ratio >= 0 && ratio < 1, "its ratio is not in [0, 1)");
  const DType mask_type = node.opset() < 10 ? x.dtype() : DType::kBool;
  if (!training || ratio == 0) {
    node.set(0, x);
    return node.set(1, splat(node.writer(), {mask_type, x.shape()}, 1));
  }
  const Expr kept = greater_equal(uniform(node, x.shape()), ratio);
  node.set(0, select(kept, x * (1 / (1 - ratio)), 0.0));
  node.set(1, convert(kept, mask_type));
}

}  // namespace

std::span<const OpHandler> random_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"Bernoulli", bernoulli, kFloats},
      {"Dropout", dropout, kFloats},
      {"Multinomial", multinomial, kFloats},
      {"RandomNormal", random_normal<false>, kAnything},
      {"RandomNormalLike", random_normal<true>},
      {"RandomUniform", random_uniform<false>, kAnything},
      {"RandomUniformLike", random_uniform<true>},
  };
  return kOps;
}

}  // namespace spmd::onnx
