// Activation functions, softmax and its relatives.
#include <algorithm>
#include <cctype>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/activations.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

void relu_op(Node& node) { node.set(0, relu(node.in(0))); }
void sigmoid_op(Node& node) { node.set(0, sigmoid(node.in(0))); }
void softplus_op(Node& node) { node.set(0, softplus(node.in(0))); }

void softsign(Node& node) {
  const Expr x = node.in(0);
  node.set(0, x / (1.0 + abs(x)));
}

void leaky_relu(Node& node) {
  const Expr x = node.in(0);
  node.set(0, select(less(x, 0.0), x * node.number("alpha", 0.01), x));
}

void prelu(Node& node) {
  const Expr x = node.in(0);
  Expr slope = node.in(1);
  // Before opset 7 one slope per channel, without trailing dimensions.
  if (node.opset() < 7 && slope.rank() == 1 && slope.dim(0) > 1 && x.rank() > 1) {
    slope = per_channel(x, slope);
  }
  node.set(0, select(less(x, 0.0), x * slope, x));
}

void elu(Node& node) {
  const Expr x = node.in(0);
  node.set(0, select(less(x, 0.0), expm1(min(x, 0.0)) * node.number("alpha", 1), x));
}

void selu(Node& node) {
  const bool old = node.opset() < 6;
  const double alpha = node.number("alpha", old ? 1.6732 : 1.67326319217681884765625);
  const double gamma = node.number("gamma", old ? 1.0507 : 1.05070102214813232421875);
  const Expr x = node.in(0);
  node.set(0, select(less_equal(x, 0.0), expm1(min(x, 0.0)) * alpha, x) * gamma);
}

void celu(Node& node) {
  const double alpha = node.number("alpha", 1);
  const Expr x = node.in(0);
  node.set(0, max(x, 0.0) + min(expm1(min(x, 0.0) / alpha) * alpha, 0.0));
}

void thresholded_relu(Node& node) {
  const Expr x = node.in(0);
  node.set(0, select(greater(x, node.number("alpha", 1)), x, 0.0));
}

void hard_sigmoid(Node& node) {
  const Expr x = node.in(0);
  node.set(0, clamp(0, x * node.number("alpha", 0.2) + node.number("beta", 0.5), 1));
}

void hard_swish(Node& node) {
  const Expr x = node.in(0);
  node.set(0, x * clamp(0, x / 6.0 + 0.5, 1));
}

void mish(Node& node) {
  const Expr x = node.in(0);
  node.set(0, x * tanh(softplus(x)));
}

void gelu_op(Node& node) {
  const std::string form = node.text("approximate", "none");
  node.require(form == "none" || form == "tanh",
               "its attribute approximate is neither none nor tanh");
  node.set(0, form == "tanh" ? gelu_tanh(node.in(0)) : gelu(node.in(0)));
}

void swish(Node& node) {
  const Expr x = node.in(0);
  node.set(0, x * sigmoid(x * node.number("alpha", 1)));
}

void shrink(Node& node) {
  const double lambd = node.number("lambd", 0.5), bias = node.number("bias", 0);
  const Expr x = node.in(0);
  const Expr zero = splat_like(x, 0);
  node.set(0, select(less(x, -lambd), x + bias, select(greater(x, lambd), x - bias, zero)));
}

// The dimensions over which softmax and the like normalise: one, or before opset 13 all from `axis`
// on.
Dims normalised_dims(Node& node, const Expr& x) {
  const bool flattens = node.opset() < 13;
  const int64_t axis = node.axis(node.integer("axis", flattens ? 1 : -1), x.rank(), flattens);
  return flattens ? dims_from(axis, x.rank()) : Dims{axis};
}

void softmax_op(Node& node) {
  const Expr x = node.in(0);
  node.set(0, softmax(x, normalised_dims(node, x)));
}

void log_softmax_op(Node& node) {
  const Expr x = node.in(0);
  node.set(0, log_softmax(x, normalised_dims(node, x)));
}

void hardmax(Node& node) {
  const Expr x = node.in(0);
  const Dims dims = normalised_dims(node, x);
  const bool one = dims.size() == 1;
  const Expr flat = one ? x : flatten(x, x.rank() - static_cast<int64_t>(dims.size()));
  const int64_t dim = one ? dims[0] : 1;
  const Expr hot = one_hot(index_of_largest(flat, dim), flat.dim(dim), dim);
  node.set(0, reshape(convert(hot, x.dtype()), x.shape()));
}

// Defaults of the functions that have parameters, as the operators of these names have them.
double default_alpha(const std::string& name) {
  if (name == "leakyrelu") return 0.01;
  if (name == "hardsigmoid") return 0.2;
  return 1;
}
double default_beta(const std::string& name) {
  if (name == "hardsigmoid") return 0.5;
  return name == "scaledtanh" ? 1 : 0;
}

}  // namespace

Activation activation_named(Node& node, const std::string& name, std::optional<double> given_alpha,
                            std::optional<double> given_beta) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const double alpha = given_alpha.value_or(default_alpha(lower));
  const double beta = given_beta.value_or(default_beta(lower));
  if (lower == "sigmoid") return [](const Expr& x) { return sigmoid(x); };
  if (lower == "tanh") return [](const Expr& x) { return tanh(x); };
  if (lower == "relu") return [](const Expr& x) { return relu(x); };
  if (lower == "softplus") return [](const Expr& x) { return softplus(x); };
  if (lower == "softsign") return [](const Expr& x) { return x / (1.0 + abs(x)); };
  if (lower == "affine") return [=](const Expr& x) { return x * alpha + beta; };
  if (lower == "scaledtanh") return [=](const Expr& x) { return tanh(x * beta) * alpha; };
  if (lower == "leakyrelu") {
    return [=](const Expr& x) { return select(less(x, 0.0), x * alpha, x); };
  }
  if (lower == "thresholdedrelu") {
    return [=](const Expr& x) { return select(greater(x, alpha), x, 0.0); };
  }
  if (lower == "elu") {
    return [=](const Expr& x) { return select(less(x, 0.0), expm1(min(x, 0.0)) * alpha, x); };
  }
  if (lower == "hardsigmoid") return [=](const Expr& x) { return clamp(0, x * alpha + beta, 1); };
  node.unsupported(fmt::format("activation \"{}\"", name));
}

std::span<const OpHandler> activation_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"Celu", celu, kFloats},
      {"Elu", elu, kFloats},
      {"Gelu", gelu_op, kFloats},
      {"HardSigmoid", hard_sigmoid, kFloats},
      {"HardSwish", hard_swish, kFloats},
      {"Hardmax", hardmax, kFloats},
      {"LeakyRelu", leaky_relu, kFloats},
      {"LogSoftmax", log_softmax_op, kFloats},
      {"Mish", mish, kFloats},
      {"PRelu", prelu, kNumbers},
      {"Relu", relu_op, kNumbers},
      {"Selu", selu, kFloats},
      {"Shrink", shrink, kNumbers},
      {"Sigmoid", sigmoid_op, kFloats},
      {"Softmax", softmax_op, kFloats},
      {"Softplus", softplus_op, kFloats},
      {"Softsign", softsign, kFloats},
      {"Swish", swish, kFloats},
      {"ThresholdedRelu", thresholded_relu, kFloats},
  };
  return kOps;
}

}  // namespace spmd::onnx
