// Ops that grow a tensor at its ends, or cut it there.
#include <algorithm>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

// Index of the element that position `at` of a padded dimension repeats.
int64_t source_position(const std::string& mode, int64_t at, int64_t size) {
  if (mode == "edge") return std::clamp<int64_t>(at, 0, size - 1);
  if (mode == "wrap") return ((at % size) + size) % size;
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);  // reflect
  const int64_t folded = ((at % period) + period) % period;
  return folded < size ? folded : period - folded;
}

Expr pad_by_repeating(Node& node, Expr x, const std::string& mode, const Dims& low,
                      const Dims& high) {
  for (int64_t d = 0; d < x.rank(); ++d) {
    const int64_t before = low[static_cast<size_t>(d)], after = high[static_cast<size_t>(d)];
    if (before == 0 && after == 0) continue;
    const int64_t size = x.dim(d);
    node.require(size > 0, "an empty dimension has nothing to repeat");
    node.check_table(static_cast<double>(size + before + after));
    Dims positions;
    for (int64_t i = -before; i < size + after; ++i) {
      positions.push_back(source_position(mode, i, size));
    }
    x = take(x, integers(x.writer(), positions), d);
  }
  return x;
}

void pad_op(Node& node) {
  const Expr x = node.in(0);
  const bool attributes = node.opset() < 11;
  const std::string mode = node.text("mode", "constant");
  node.require(mode == "constant" || mode == "edge" || mode == "reflect" || mode == "wrap",
               "its attribute mode is unknown");
  Dims pads = attributes ? node.integers(node.opset() < 2 ? "paddings" : "pads").value_or(Dims{})
                         : node.known_integers(1);
  const Dims axes = !attributes && node.has(3) ? node.axes(node.known_integers(3), x.rank())
                                               : dims_from(0, x.rank());
  node.require(pads.size() == 2 * axes.size(), "it has not two pads per dimension");
  Dims low(x.shape().size(), 0), high = low;
  for (size_t i = 0; i < axes.size(); ++i) {
    low[static_cast<size_t>(axes[i])] = pads[i];
    high[static_cast<size_t>(axes[i])] = pads[i + axes.size()];
  }
  for (size_t d = 0; d < low.size(); ++d) {
    const int64_t limit = int64_t{1} << 40;
    node.require(low[d] < limit && high[d] < limit && low[d] > -limit && high[d] > -limit &&
                     x.shape()[d] + low[d] + high[d] >= 0,
                 "its pads are out of range");
  }
  if (mode != "constant") {
    node.require(*std::min_element(pads.begin(), pads.end()) >= 0 || pads.empty(),
                 "negative pads need mode constant");
    return node.set(0, pad_by_repeating(node, x, mode, low, high));
  }
  Expr value = attributes    ? splat(node.writer(), {x.dtype(), {}}, node.number("value", 0))
               : node.has(2) ? reshape(node.in(2), {})
                             : splat(node.writer(), {x.dtype(), {}}, 0);
  if (x.dtype() == DType::kBool && value.dtype() != DType::kBool) value = not_equal(value, 0.0);
  node.set(0,
           Expr(node.writer(), x.builder().pad(x.id(), convert(value, x.dtype()).id(), low, high)));
}

void center_crop_pad(Node& node) {
  Expr x = node.in(0);
  const Dims sizes = node.known_integers(1);
  const Dims axes = node.axes(node.integers("axes").value_or(dims_from(0, x.rank())), x.rank());
  node.require(sizes.size() == axes.size(), "it has not one size per axis");
  Dims low(x.shape().size(), 0), high = low;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t size = x.dim(axes[i]), to = node.at_least(0, sizes[i], "a size");
    if (to <= size) {
      const int64_t start = (size - to) / 2;
      x = slice_dim(x, axes[i], start, start + to);
    } else {
      low[static_cast<size_t>(axes[i])] = (to - size) / 2;
      high[static_cast<size_t>(axes[i])] = to - size - (to - size) / 2;
    }
  }
  node.set(0, pad(x, 0, low, high));
}

}  // namespace

std::span<const OpHandler> padding_ops() {
  static constexpr OpHandler kOps[] = {
      {"CenterCropPad", center_crop_pad},
      {"Pad", pad_op},
  };
  return kOps;
}

}  // namespace spmd::onnx
