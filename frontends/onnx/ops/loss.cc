// Losses.
#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

// The negative log-likelihood of class `target` at each position, from log-probabilities
// [batch, classes, positions...]; weighted by class, and zero where the target is ignored.
Expr negative_log_likelihood(Node& node, const Expr& log_probabilities) {
  const Expr target = convert(node.in(1), DType::kS64);
  node.require(log_probabilities.rank() == target.rank() + 1 && target.rank() >= 1,
               "its target's rank does not fit its input");
  const int64_t classes = log_probabilities.dim(1);
  const Expr hot = one_hot(target, classes, 1);
  node.require(hot.shape() == log_probabilities.shape(),
               "its target's shape does not fit its input");
  const DType dtype = log_probabilities.dtype();
  Expr weights = convert(hot, dtype);
  if (const Expr given = node.in_or_none(2)) weights = weights * per_channel(weights, given);
  if (node.has_attribute("ignore_index")) {
    const auto ignored = static_cast<double>(node.integer("ignore_index"));
    const Expr counts = convert(not_equal(target, ignored), dtype);
    weights = weights * broadcast_to(unsqueeze(counts, 1), weights.shape());
  }
  // Zero weights hide infinite log-probabilities of other classes.
  const Expr terms = select(equal(weights, 0.0), 0.0, log_probabilities * weights);
  const Expr losses = -sum(terms, {1});
  const std::string reduction = node.text("reduction", "mean");
  const Dims all = dims_from(0, losses.rank());
  if (reduction == "none") return losses;
  if (reduction == "sum") return sum(losses, all);
  node.require(reduction == "mean", "its attribute reduction is unknown");
  return sum(losses, all) / sum(weights, dims_from(0, weights.rank()));
}

void nll_loss(Node& node) { node.set(0, negative_log_likelihood(node, node.in(0))); }

void softmax_cross_entropy_loss(Node& node) {
  const Expr scores = node.in(0);
  node.require(scores.rank() >= 2, "its input has no classes");
  const Expr log_probabilities = log_softmax(scores, {1});
  node.set(0, negative_log_likelihood(node, log_probabilities));
  node.set(1, log_probabilities);
}

}  // namespace

std::span<const OpHandler> loss_ops() {
  static constexpr OpHandler kOps[] = {
      {"NegativeLogLikelihoodLoss", nll_loss, Accepts::kFloats},
      {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss, Accepts::kFloats},
  };
  return kOps;
}

}  // namespace spmd::onnx
