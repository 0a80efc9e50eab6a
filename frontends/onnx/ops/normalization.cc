// Normalisations.
#include <algorithm>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"
#include "frontends/onnx/ops/normalizations.h"
#include "frontends/onnx/ops/windows.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

void set_batch_statistics(Node& node, const Expr& old_mean, const Expr& old_variance,
                          const Expr& mean, const Expr& variance) {
  const double momentum = node.number("momentum", 0.9);
  const auto running = [&](const Expr& old, const Expr& now) {
    return old * momentum + convert(now, old.dtype()) * (1 - momentum);
  };
  node.set(1, running(old_mean, mean));
  node.set(2, running(old_variance, variance));
}

void batch_normalization(Node& node) {
  const Expr x = node.in(0);
  node.require(x.rank() >= 1, "its input is a scalar");
  const int64_t channel_dim = x.rank() > 1 ? 1 : 0;
  Dims dims = dims_from(0, x.rank());
  dims.erase(dims.begin() + channel_dim);
  const Expr scale = node.in(1), bias = node.in(2), old_mean = node.in(3),
             old_variance = node.in(4);
  const bool training = node.opset() >= 14 ? node.flag("training_mode", false)
                        : node.opset() < 7 ? !node.flag("is_test", node.num_outputs() == 1)
                                           : node.num_outputs() > 1;
  if (node.opset() < 9 && !node.flag("spatial", true)) {
    node.unsupported("statistics for each position (spatial = 0)");
  }
  const Expr wide = convert(x, compute_type(x.dtype()));
  Expr mean_of = old_mean, variance_of = old_variance;
  if (training) {
    mean_of = mean(wide, dims);
    const Expr centered = wide - per_channel(wide, mean_of, channel_dim);
    variance_of = mean(centered * centered, dims);
    set_batch_statistics(node, old_mean, old_variance, mean_of, variance_of);
  }
  const auto beside = [&](const Expr& values) {
    return per_channel(wide, convert(values, wide.dtype()), channel_dim);
  };
  const Expr factor = rsqrt(convert(variance_of, wide.dtype()) + node.number("epsilon", 1e-5));
  const Expr result =
      (wide - beside(mean_of)) * beside(factor * convert(scale, wide.dtype())) + beside(bias);
  node.set(0, convert(result, x.dtype()));
}

void instance_normalization(Node& node) {
  const Expr x = node.in(0);
  node.require(x.rank() >= 3, "its input has no spatial dimensions");
  const Dims dims = dims_from(2, x.rank());
  const Expr normalised = standardized(x, dims, node.number("epsilon", 1e-5)).value;
  node.set(0, normalised * per_channel(x, node.in(1)) + per_channel(x, node.in(2)));
}

void layer_normalization(Node& node) {
  const Expr x = node.in(0);
  const Dims dims = dims_from(node.axis(node.integer("axis", -1), x.rank()), x.rank());
  const Standardized s =
      standardized(convert(x, compute_type(x.dtype())), dims, node.number("epsilon", 1e-5));
  Expr result = convert(s.value, x.dtype()) * node.in(1);
  if (const Expr bias = node.in_or_none(2)) result = result + bias;
  node.set(0, result);
  node.set(1, s.mean);
  node.set(2, s.inverse_deviation);
}

void rms_normalization(Node& node) {
  const Expr x = node.in(0);
  const Dims dims = dims_from(node.axis(node.integer("axis", -1), x.rank()), x.rank());
  const Expr wide = convert(x, compute_type(x.dtype()));
  const Expr normalised = rms_normalized(wide, dims, node.number("epsilon", 1e-5));
  node.set(0, convert(normalised, x.dtype()) * node.in(1));
}

void group_normalization(Node& node) {
  const Expr x = node.in(0);
  const int64_t groups = node.at_least(1, node.integer("num_groups"), "its attribute num_groups");
  node.require(x.rank() >= 2 && x.dim(1) % groups == 0, "its groups do not divide the channels");
  Dims shape = x.shape();
  shape[1] /= groups;
  shape.insert(shape.begin() + 1, groups);
  const Expr wide = convert(reshape(x, shape), compute_type(x.dtype()));
  const Expr normalised = convert(
      standardized(wide, dims_from(2, wide.rank()), node.number("epsilon", 1e-5)).value, x.dtype());
  if (node.opset() >= 21) {  // scale and bias per channel
    const Expr flat = reshape(normalised, x.shape());
    return node.set(0, flat * per_channel(x, node.in(1)) + per_channel(x, node.in(2)));
  }
  const auto per_group = [&](int input) {
    return broadcast_along(node.in(input), normalised.shape(), 1);
  };
  node.set(0, reshape(normalised * per_group(1) + per_group(2), x.shape()));
}

void lp_normalization(Node& node) {
  const Expr x = node.in(0);
  const int64_t dim = node.axis(node.integer("axis", -1), x.rank());
  const int64_t p = node.integer("p", 2);
  node.require(p == 1 || p == 2, "its attribute p is neither 1 nor 2");
  const Expr norm = p == 1 ? sum(abs(x), {dim}, true) : sqrt(sum(x * x, {dim}, true));
  node.set(0, select(equal(norm, 0.0), 0.0, x / broadcast_to(norm, x.shape())));
}

void mean_variance_normalization(Node& node) {
  const Expr x = node.in(0);
  const Dims axes = node.axes(node.integers("axes").value_or(Dims{0, 2, 3}), x.rank());
  const Expr centered = x - mean(x, axes, true);
  const Expr deviation = sqrt(mean(centered * centered, axes, true));
  node.set(0, centered / (deviation + 1e-9));
}

// Local response: a window over neighbouring channels.
void lrn(Node& node) {
  const Expr x = node.in(0);
  node.require(x.rank() >= 2, "its input has no channels");
  const int64_t size = node.at_least(1, node.integer("size"), "its attribute size");
  WindowAttrs window;
  for (Dims* ones :
       {&window.size, &window.stride, &window.base_dilation, &window.window_dilation}) {
    ones->assign(x.shape().size(), 1);
  }
  window.pad_low.assign(x.shape().size(), 0);
  window.pad_high = window.pad_low;
  window.size[1] = size;
  window.pad_low[1] = (size - 1) / 2;
  window.pad_high[1] = size - 1 - window.pad_low[1];
  const Expr squares = x * x;
  Builder& builder = x.builder();
  const ValueId zero = builder.scalar(x.dtype(), 0);
  const OpId op = builder.create(OpCode::kReduceWindow, {squares.id(), zero}, std::move(window));
  add_reducer_region(node.writer().function(), op, OpCode::kAdd, x.dtype());
  const Expr sums(node.writer(), node.writer().function().op(op).results[0]);
  const double alpha = node.number("alpha", 1e-4) / static_cast<double>(size);
  node.set(0, x / power(sums * alpha + node.number("bias", 1), node.number("beta", 0.75)));
}

}  // namespace

Standardized standardized(const Expr& x, const Dims& dims, double epsilon) {
  const Expr center = mean(x, dims, true);
  const Expr centered = x - center;
  const Expr inverse = rsqrt(mean(centered * centered, dims, true) + epsilon);
  return {centered * inverse, center, inverse};
}

Expr rms_normalized(const Expr& x, const Dims& dims, double epsilon) {
  return x * rsqrt(mean(x * x, dims, true) + epsilon);
}

std::span<const OpHandler> normalization_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"BatchNormalization", batch_normalization, kFloats},
      {"GroupNormalization", group_normalization, kFloats},
      {"InstanceNormalization", instance_normalization, kFloats},
      {"LRN", lrn, kFloats},
      {"LayerNormalization", layer_normalization, kFloats},
      {"LpNormalization", lp_normalization, kFloats},
      {"MeanVarianceNormalization", mean_variance_normalization, kFloats},
      {"RMSNormalization", rms_normalization, kFloats},
  };
  return kOps;
}

}  // namespace spmd::onnx
