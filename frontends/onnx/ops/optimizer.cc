// Optimizer steps of ai.onnx.preview.training. Their inputs are R and T, then the tensors: all
// parameters, all gradients, and all accumulators of each kind.
#include <cmath>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

constexpr std::string_view kTraining = "ai.onnx.preview.training";

// The inputs of one of `count` tensors: parameter, gradient, accumulators.
struct Group {
  int index = 0, count = 0;
  Expr of(Node& node, int kind) const { return node.in(2 + kind * count + index); }
  void set(Node& node, int kind, const Expr& x) const { node.set(kind * count + index, x); }
};

template <typename Step>
void for_each_tensor(Node& node, int kinds, Step&& step) {
  const int tensors = node.num_inputs() - 2;
  node.require(tensors > 0 && tensors % kinds == 0, "it has a wrong number of inputs");
  for (int i = 0; i < tensors / kinds; ++i) step(Group{i, tensors / kinds});
}

// A number as a scalar of the tensors' type.
Expr scalar(Node& node, int input, const Expr& like) {
  return reshape(convert(node.in(input), like.dtype()), {});
}

void adagrad(Node& node) {
  for_each_tensor(node, 3, [&](const Group& group) {
    const Expr x = group.of(node, 0), squares = group.of(node, 2);
    const Expr rate = scalar(node, 0, x);
    const Expr decayed = rate / (scalar(node, 1, x) * node.number("decay_factor", 0) + 1.0);
    const Expr gradient = x * node.number("norm_coefficient", 0) + group.of(node, 1);
    const Expr sums = squares + gradient * gradient;
    group.set(node, 0, x - decayed * gradient / (sqrt(sums) + node.number("epsilon", 1e-6)));
    group.set(node, 1, sums);
  });
}

void adam(Node& node) {
  const double alpha = node.number("alpha", 0.9), beta = node.number("beta", 0.999);
  for_each_tensor(node, 4, [&](const Group& group) {
    const Expr x = group.of(node, 0);
    const Expr gradient = x * node.number("norm_coefficient", 0) + group.of(node, 1);
    const Expr first = group.of(node, 2) * alpha + gradient * (1 - alpha);
    const Expr second = group.of(node, 3) * beta + gradient * gradient * (1 - beta);
    const Expr step = scalar(node, 1, x), rate = scalar(node, 0, x);
    const auto power_of = [&](double base) { return power(splat_like(step, base), step); };
    const Expr corrected = rate * sqrt(1.0 - power_of(beta)) / (1.0 - power_of(alpha));
    const Expr adjusted = select(greater(step, 0.0), corrected, rate);
    const Expr next = x - adjusted * first / (sqrt(second) + node.number("epsilon", 1e-6));
    group.set(node, 0, next * (1 - node.number("norm_coefficient_post", 0)));
    group.set(node, 1, first);
    group.set(node, 2, second);
  });
}

void momentum(Node& node) {
  const double alpha = node.number("alpha", 0), beta = node.number("beta", 0);
  const std::string mode = node.text("mode", "");
  node.require(mode == "standard" || mode == "nesterov", "its attribute mode is unknown");
  for_each_tensor(node, 3, [&](const Group& group) {
    const Expr x = group.of(node, 0), velocity = group.of(node, 2);
    const Expr rate = scalar(node, 0, x);
    const Expr gradient = x * node.number("norm_coefficient", 0) + group.of(node, 1);
    // In the first step the whole gradient counts.
    const Expr share = select(greater(scalar(node, 1, x), 0.0), splat_like(rate, beta), 1.0);
    const Expr next = velocity * alpha + gradient * share;
    const Expr direction = mode == "nesterov" ? gradient + next * alpha : next;
    group.set(node, 0, x - rate * direction);
    group.set(node, 1, next);
  });
}

}  // namespace

std::span<const OpHandler> optimizer_ops() {
  static constexpr OpHandler kOps[] = {
      {"Adagrad", adagrad, Accepts::kAnything, 1, kTraining},
      {"Adam", adam, Accepts::kAnything, 1, kTraining},
      {"Momentum", momentum, Accepts::kAnything, 1, kTraining},
  };
  return kOps;
}

}  // namespace spmd::onnx
