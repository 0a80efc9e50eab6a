// Resize and Upsample: along each dimension, an index or a matrix of weights.
#include <algorithm>
#include <cmath>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

struct Settings {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

// One dimension to be resized.
struct Axis {
  int64_t from = 1, to = 1;
  double scale = 1;
  double roi_start = 0, roi_end = 1;
};

double unbounded_coordinate(Node& node, const Settings& s, const Axis& axis, int64_t i) {
  const auto x = static_cast<double>(i), from = static_cast<double>(axis.from);
  const double to = from * axis.scale;  // before rounding
  if (s.coordinates == "half_pixel") return (x + 0.5) / axis.scale - 0.5;
  if (s.coordinates == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(axis.to) / to;
    return from / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  if (s.coordinates == "pytorch_half_pixel") {
    return axis.to > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
  }
  if (s.coordinates == "align_corners") return to != 1 ? x * (from - 1) / (to - 1) : 0;
  if (s.coordinates == "asymmetric") return x / axis.scale;
  if (s.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (s.coordinates == "tf_crop_and_resize") {
    if (axis.to > 1) {
      return axis.roi_start * (from - 1) +
             x * (axis.roi_end - axis.roi_start) * (from - 1) / (to - 1);
    }
    return 0.5 * (axis.roi_start + axis.roi_end) * (from - 1);
  }
  node.fail("its attribute coordinate_transformation_mode is unknown");
}

// Where output element `i` lies among the input's elements.
double coordinate(Node& node, const Settings& s, const Axis& axis, int64_t i) {
  const double x = unbounded_coordinate(node, s, axis, i);
  node.require(std::abs(x) < 1e12, "its region or its scales are out of range");
  return x;
}

int64_t nearest(Node& node, const Settings& s, double x) {
  if (s.nearest == "round_prefer_floor") return static_cast<int64_t>(std::ceil(x - 0.5));
  if (s.nearest == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  if (s.nearest == "floor") return static_cast<int64_t>(std::floor(x));
  if (s.nearest == "ceil") return static_cast<int64_t>(std::ceil(x));
  node.fail("its attribute nearest_mode is unknown");
}

// The weight of an element at distance `x`.
double kernel(const Settings& s, double x) {
  x = std::abs(x);
  if (s.mode == "linear") return std::max(0.0, 1 - x);
  const double a = s.cubic_a;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// The weights of the input's elements in output element `i`, written to a row of the matrix.
void fill_row(Node& node, const Settings& s, const Axis& axis, int64_t i, float* row) {
  const double x = coordinate(node, s, axis, i);
  const double stretch = s.antialias ? std::max(1.0, 1 / axis.scale) : 1;
  const double reach = (s.mode == "linear" ? 1 : 2) * stretch;
  const auto first = static_cast<int64_t>(std::floor(x - reach)) - 1;
  const auto last = static_cast<int64_t>(std::ceil(x + reach)) + 1;
  double total = 0;
  std::vector<std::pair<int64_t, double>> weights;
  for (int64_t at = first; at <= last; ++at) {
    const double weight = kernel(s, (x - static_cast<double>(at)) / stretch);
    const bool outside = at < 0 || at >= axis.from;
    if (weight == 0 || (outside && s.exclude_outside)) continue;
    weights.emplace_back(std::clamp<int64_t>(at, 0, axis.from - 1), weight);
    total += weight;
  }
  const bool normalise = s.exclude_outside || s.antialias;
  for (const auto& [at, weight] : weights) {
    row[at] += static_cast<float>(normalise && total != 0 ? weight / total : weight);
  }
}

// Whether output element `i` of tf_crop_and_resize lies outside the input.
bool is_extrapolated(Node& node, const Settings& s, const Axis& axis, int64_t i) {
  if (s.coordinates != "tf_crop_and_resize") return false;
  const double x = coordinate(node, s, axis, i);
  return x < 0 || x > static_cast<double>(axis.from - 1);
}

Expr interpolated(Node& node, const Settings& s, const Axis& axis, const Expr& x, int64_t dim) {
  const TensorType type{DType::kF32, {axis.to, axis.from}};
  node.check_table(static_cast<double>(axis.to) * static_cast<double>(axis.from));
  Literal matrix(type);
  for (int64_t i = 0; i < axis.to; ++i) {
    fill_row(node, s, axis, i, matrix.mutable_as<float>() + i * axis.from);
  }
  const DType wide = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  DotAttrs attrs;
  attrs.lhs_contracting = {dim};
  attrs.rhs_contracting = {1};
  const Expr weights = convert(constant(node.writer(), std::move(matrix)), wide);
  const Expr product = dot(convert(x, wide), weights, std::move(attrs));
  return move_dim(product, product.rank() - 1, dim);
}

Expr resized(Node& node, const Settings& s, const Axis& axis, const Expr& x, int64_t dim) {
  node.require(axis.from > 0 || axis.to == 0, "an empty dimension is resized");
  node.check_table(static_cast<double>(axis.to));
  if (axis.to == 0) return slice_dim(x, dim, 0, 0);
  const bool identity = axis.from == axis.to && s.coordinates != "tf_crop_and_resize";
  if (identity && axis.scale == 1) return x;
  if (s.mode != "nearest") return interpolated(node, s, axis, x, dim);
  Dims positions;
  for (int64_t i = 0; i < axis.to; ++i) {
    const double at = coordinate(node, s, axis, i);
    positions.push_back(std::clamp<int64_t>(nearest(node, s, at), 0, axis.from - 1));
  }
  return take(x, integers(node.writer(), positions), dim);
}

// Result with elements outside the input set to extrapolation_value.
Expr extrapolated(Node& node, const Settings& s, const std::vector<Axis>& axes, const Dims& dims,
                  Expr x) {
  for (size_t i = 0; i < axes.size(); ++i) {
    Literal outside(TensorType{DType::kBool, {axes[i].to}});
    bool any = false;
    for (int64_t k = 0; k < axes[i].to; ++k) {
      const bool out = is_extrapolated(node, s, axes[i], k);
      outside.mutable_as<uint8_t>()[k] = out;
      any = any || out;
    }
    if (!any) continue;
    const Expr mask = constant(node.writer(), std::move(outside));
    x = select(broadcast_along(mask, x.shape(), dims[i]), s.extrapolation, x);
  }
  return x;
}

void set_resized(Node& node, const Settings& s, const std::vector<Axis>& axes, const Dims& dims) {
  const Expr x = node.in(0);
  Expr result = x;
  for (size_t i = 0; i < axes.size(); ++i) result = resized(node, s, axes[i], result, dims[i]);
  result = extrapolated(node, s, axes, dims, result);
  if (is_integer(x.dtype()) && result.dtype() != x.dtype()) result = round_even(result);
  node.set(0, convert(result, x.dtype()));
}

Axis scaled_axis(Node& node, int64_t from, double scale) {
  const double to = std::floor(static_cast<double>(from) * scale);
  node.require(scale > 1e-6 && to < 1e9, "a scale is out of range");
  return {from, static_cast<int64_t>(to), scale};
}

Axis sized_axis(Node& node, int64_t from, int64_t to) {
  node.require(to >= 0 && to < (int64_t{1} << 30), "a size is out of range");
  return {from, to, from == 0 ? 1 : static_cast<double>(to) / static_cast<double>(from)};
}

// With keep_aspect_ratio_policy, one scale for all: the smallest or largest that the sizes ask for.
void keep_aspect(Node& node, std::vector<Axis>& axes) {
  const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return;
  node.require(policy == "not_larger" || policy == "not_smaller",
               "its attribute keep_aspect_ratio_policy is unknown");
  double scale = axes.empty() ? 1 : axes[0].scale;
  for (const Axis& axis : axes) {
    scale = policy == "not_larger" ? std::min(scale, axis.scale) : std::max(scale, axis.scale);
  }
  for (Axis& axis : axes) {
    axis.scale = scale;
    axis.to = static_cast<int64_t>(std::floor(scale * static_cast<double>(axis.from) + 0.5));
  }
}

void set_roi(Node& node, std::vector<Axis>& axes) {
  const std::vector<double> roi = node.known_numbers(1);
  node.require(roi.size() == 2 * axes.size(), "its region has not two bounds per axis");
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].roi_start = roi[i];
    axes[i].roi_end = roi[i + axes.size()];
  }
}

void resize(Node& node) {
  const Expr x = node.in(0);
  Settings s;
  s.mode = node.text("mode", "nearest");
  node.require(s.mode == "nearest" || s.mode == "linear" || s.mode == "cubic",
               "its attribute mode is unknown");
  const bool old = node.opset() < 11;
  s.coordinates = node.text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  s.nearest = node.text("nearest_mode", old ? "floor" : "round_prefer_floor");
  s.cubic_a = node.number("cubic_coeff_a", -0.75);
  s.exclude_outside = node.flag("exclude_outside", false);
  s.extrapolation = node.number("extrapolation_value", 0);
  s.antialias = node.flag("antialias", false);
  const Dims dims = node.axes(node.integers("axes").value_or(dims_from(0, x.rank())), x.rank());
  const int scales_input = old ? 1 : 2;
  std::vector<Axis> axes;
  const bool has_scales = node.has(scales_input) && node.in(scales_input).num_elements() > 0;
  if (has_scales) {
    const std::vector<double> scales = node.known_numbers(scales_input);
    node.require(scales.size() == dims.size(), "it has not one scale per axis");
    for (size_t i = 0; i < dims.size(); ++i) {
      axes.push_back(scaled_axis(node, x.dim(dims[i]), scales[i]));
    }
  } else {
    const Dims sizes = node.known_integers(3);
    node.require(sizes.size() == dims.size(), "it has not one size per axis");
    for (size_t i = 0; i < dims.size(); ++i) {
      axes.push_back(sized_axis(node, x.dim(dims[i]), sizes[i]));
    }
    keep_aspect(node, axes);
  }
  if (s.coordinates == "tf_crop_and_resize") set_roi(node, axes);
  set_resized(node, s, axes, dims);
}

// Nearest or linear, by scales that are attributes or (from opset 9) an input.
void upsample(Node& node) {
  const Expr x = node.in(0);
  Settings s;
  s.mode = node.text("mode", "nearest");
  if (s.mode == "bilinear") s.mode = "linear";
  node.require(s.mode == "nearest" || s.mode == "linear", "its attribute mode is unknown");
  s.coordinates = "asymmetric";
  s.nearest = "floor";
  std::vector<double> scales;
  if (node.opset() >= 9) {
    scales = node.known_numbers(1);
  } else if (node.opset() >= 7) {
    scales = node.numbers("scales").value_or(std::vector<double>{});
  } else {
    scales = {1, 1, node.number("height_scale", 1), node.number("width_scale", 1)};
  }
  node.require(static_cast<int64_t>(scales.size()) == x.rank(),
               "it has not one scale per dimension");
  std::vector<Axis> axes;
  for (int64_t d = 0; d < x.rank(); ++d) {
    axes.push_back(scaled_axis(node, x.dim(d), scales[static_cast<size_t>(d)]));
  }
  set_resized(node, s, axes, dims_from(0, x.rank()));
}

}  // namespace

std::span<const OpHandler> resize_ops() {
  static constexpr OpHandler kOps[] = {
      {"Resize", resize, Accepts::kNumbers},
      {"Upsample", upsample, Accepts::kNumbers},
  };
  return kOps;
}

}  // namespace spmd::onnx
