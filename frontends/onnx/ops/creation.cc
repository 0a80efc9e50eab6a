// Tensors that no elements are needed for: constants, ranges, shapes.
#include <algorithm>
#include <cmath>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

void shape_op(Node& node) {
  const Expr x = node.in(0);
  const auto wrap = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + x.rank() : at, 0, x.rank());
  };
  const int64_t start = wrap(node.integer("start", 0));
  const int64_t end = std::max(start, wrap(node.integer("end", x.rank())));
  node.set(0, integers(node.writer(), Dims(x.shape().begin() + start, x.shape().begin() + end)));
}

void size_op(Node& node) {
  const Expr x = node.in(0);
  const int64_t size = x.num_elements();
  node.set(0, constant(node.writer(), Literal::splat({DType::kS64, {}}, &size)));
}

void constant_op(Node& node) {
  Writer& writer = node.writer();
  if (node.has_attribute("value_string") || node.has_attribute("value_strings")) {
    StringTensor strings{{}, {node.text("value_string", "")}};
    if (node.has_attribute("value_strings")) {
      strings.elements = node.texts("value_strings");
      strings.shape = {static_cast<int64_t>(strings.elements.size())};
    }
    return node.set(0, Value::of(std::move(strings)));
  }
  if (const auto value = node.tensor("value")) return node.set(0, constant(writer, *value));
  if (node.has_attribute("value_int")) {
    const int64_t value = node.integer("value_int");
    return node.set(0, constant(writer, Literal::splat({DType::kS64, {}}, &value)));
  }
  if (node.has_attribute("value_float")) {
    return node.set(0, splat(writer, {DType::kF32, {}}, node.number("value_float", 0)));
  }
  if (const auto values = node.integers("value_ints"))
    return node.set(0, integers(writer, *values));
  if (const auto values = node.numbers("value_floats")) {
    const std::vector<float> floats(values->begin(), values->end());
    const TensorType type{DType::kF32, {static_cast<int64_t>(floats.size())}};
    return node.set(0, constant(writer, Literal::of(type, floats)));
  }
  node.unsupported("a constant that is neither a tensor nor numbers nor strings");
}

void constant_of_shape(Node& node) {
  const Literal zero(TensorType{DType::kF32, {1}});
  const Literal value = node.tensor("value").value_or(zero);
  node.require(value.type().num_elements() == 1, "its value has not one element");
  const TensorType type{value.type().dtype, node.known_integers(0)};
  for (int64_t size : type.shape) node.require(size >= 0, "its shape has a negative size");
  node.require(is_valid(type), "its shape is too large");
  node.set(0,
           constant(node.writer(), Literal::splat(type, static_cast<const void*>(value.data()))));
}

void range(Node& node) {
  const Expr start = node.in(0), delta = node.in(2);
  const double first = node.known_numbers(0).at(0), limit = node.known_numbers(1).at(0),
               step = node.known_numbers(2).at(0);
  node.require(step != 0, "its step is 0");
  const double count = std::max(0.0, std::ceil((limit - first) / step));
  node.require(count < static_cast<double>(int64_t{1} << 40), "it has too many elements");
  const TensorType type{start.dtype(), {static_cast<int64_t>(count)}};
  const Expr positions = iota(node.writer(), type, 0);
  node.set(0, positions * reshape(delta, {}) + reshape(start, {}));
}

void eye_like(Node& node) {
  const Expr x = node.in(0);
  node.require(x.rank() == 2, "its input is no matrix");
  const int64_t k = node.integer("k", 0);
  const DType dtype = node.has_attribute("dtype") ? node.dtype("dtype") : x.dtype();
  const TensorType index{DType::kS64, x.shape()};
  const Expr on =
      equal(iota(node.writer(), index, 0) + static_cast<double>(k), iota(node.writer(), index, 1));
  node.set(0, convert(on, dtype));
}

}  // namespace

std::span<const OpHandler> creation_ops() {
  static constexpr OpHandler kOps[] = {
      {"Constant", constant_op, Accepts::kAnything},
      {"ConstantOfShape", constant_of_shape},
      {"EyeLike", eye_like},
      {"Range", range, Accepts::kNumbers},
      {"Shape", shape_op},
      {"Size", size_op},
  };
  return kOps;
}

}  // namespace spmd::onnx
