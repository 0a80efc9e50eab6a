// Ops that only move elements, and those whose values are shapes.
#include <algorithm>
#include <cmath>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

void reshape_op(Node& node) {
  const Expr x = node.in(0);
  Dims shape = node.opset() < 5 ? node.integers("shape").value_or(Dims{}) : node.known_integers(1);
  const bool zero_copies = !node.flag("allowzero", false);
  int64_t rest = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && zero_copies) {
      node.require(i < x.shape().size(), "a 0 of the shape copies a dimension that is not there");
      shape[i] = x.shape()[i];
    }
    if (shape[i] == -1) {
      node.require(!open, "the shape has two -1");
      open = i;
    } else {
      node.require(shape[i] >= 0 && shape[i] <= kMaxTensorBytes,
                   "the shape has a size out of range");
      rest *= shape[i];
      node.require(rest <= kMaxTensorBytes, "the shape is too large");
    }
  }
  if (open) shape[*open] = rest == 0 ? 0 : x.num_elements() / rest;
  node.set(0, reshape(x, std::move(shape)));
}

void flatten_op(Node& node) {
  const Expr x = node.in(0);
  node.set(0, flatten(x, node.axis(node.integer("axis", 1), x.rank(), true)));
}

void squeeze_op(Node& node) {
  const Expr x = node.in(0);
  const std::optional<Dims> given = axes_of(node, 1, 13);
  const Dims axes = given ? node.axes(*given, x.rank()) : Dims{};
  Dims shape;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const bool named = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (named && x.dim(d) != 1) node.fail(fmt::format("dimension {} has size {}", d, x.dim(d)));
    if (!named && (given || x.dim(d) != 1)) shape.push_back(x.dim(d));
  }
  node.set(0, reshape(x, std::move(shape)));
}

void unsqueeze_op(Node& node) {
  const Expr x = node.in(0);
  const std::optional<Dims> given = axes_of(node, 1, 13);
  node.require(given.has_value(), "its axes are missing");
  const int64_t rank = x.rank() + static_cast<int64_t>(given->size());
  Dims axes = node.axes(*given, rank);
  std::sort(axes.begin(), axes.end());
  Dims shape = x.shape();
  for (int64_t d : axes) shape.insert(shape.begin() + d, 1);
  node.set(0, reshape(x, std::move(shape)));
}

void transpose_op(Node& node) {
  const Expr x = node.in(0);
  Dims backwards = dims_from(0, x.rank());
  std::reverse(backwards.begin(), backwards.end());
  const Dims permutation = node.integers("perm").value_or(backwards);
  node.require(static_cast<int64_t>(permutation.size()) == x.rank(),
               "its attribute perm has not one entry per dimension");
  node.set(0, transpose(x, node.axes(permutation, x.rank())));
}

void concat(Node& node) {
  const std::vector<Expr> parts = node.ins();
  const int64_t otherwise = node.opset() < 4 ? 1 : node.integer("axis");
  const int64_t dim = node.axis(node.integer("axis", otherwise), parts[0].rank());
  node.set(0, concatenate(parts, dim));
}

// Sizes of `parts` parts of a dimension: equal, but for a smaller last one.
Dims equal_parts(Node& node, int64_t size, int64_t parts) {
  node.require(parts > 0, "it has no outputs");
  node.check_table(static_cast<double>(parts));
  const int64_t each = (size + parts - 1) / parts;
  Dims sizes;
  for (int64_t i = 0; i < parts; ++i) {
    sizes.push_back(std::clamp<int64_t>(size - i * each, 0, each));
  }
  return sizes;
}

void split(Node& node) {
  const Expr x = node.in(0);
  const int64_t dim = node.axis(node.integer("axis", 0), x.rank());
  Dims sizes;
  if (const auto given = axes_of(node, 1, 13, "split")) {
    sizes = *given;
  } else {
    sizes = equal_parts(node, x.dim(dim), node.integer("num_outputs", node.num_outputs()));
  }
  node.require(static_cast<int>(sizes.size()) >= node.num_outputs(), "it has too many outputs");
  int64_t start = 0;
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
    const int64_t size = sizes[static_cast<size_t>(i)];
    node.require(size >= 0 && size <= x.dim(dim) - start, "the parts do not fit the dimension");
    if (node.wants(i)) node.set(i, slice_dim(x, dim, start, start + size));
    start += size;
  }
  node.require(start == x.dim(dim), "the parts do not fill the dimension");
}

struct SliceBounds {
  Dims starts, ends, axes, steps;
};

SliceBounds slice_bounds(Node& node, int64_t rank) {
  SliceBounds b;
  if (node.opset() < 10) {
    b.starts = node.integers("starts").value_or(Dims{});
    b.ends = node.integers("ends").value_or(Dims{});
    b.axes = node.integers("axes").value_or(dims_from(0, static_cast<int64_t>(b.starts.size())));
  } else {
    b.starts = node.known_integers(1);
    b.ends = node.known_integers(2);
    b.axes =
        node.has(3) ? node.known_integers(3) : dims_from(0, static_cast<int64_t>(b.starts.size()));
    if (node.has(4)) b.steps = node.known_integers(4);
  }
  if (b.steps.empty()) b.steps.assign(b.starts.size(), 1);
  const size_t count = b.starts.size();
  node.require(b.ends.size() == count && b.axes.size() == count && b.steps.size() == count,
               "starts, ends, axes and steps differ in number");
  b.axes = node.axes(b.axes, rank);
  return b;
}

Expr sliced(Node& node, const Expr& x, int64_t dim, int64_t start, int64_t end, int64_t step) {
  const int64_t size = x.dim(dim);
  node.require(step != 0, "a step is 0");
  // As Python: negative counts from the end, then clamped.
  if (start < 0) start += size;
  if (end < 0) end += size;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, size);
    end = std::clamp<int64_t>(end, start, size);
    return slice_dim(x, dim, start, end, std::min(step, size + 1));
  }
  start = std::clamp<int64_t>(start, -1, size - 1);
  end = std::clamp<int64_t>(end, -1, start);
  // The same elements of the reversed dimension.
  step = std::max(step, -size - 1);
  return slice_dim(reverse(x, {dim}), dim, size - 1 - start, size - 1 - end, -step);
}

void slice_op(Node& node) {
  Expr x = node.in(0);
  const SliceBounds b = slice_bounds(node, x.rank());
  for (size_t i = 0; i < b.axes.size(); ++i) {
    x = sliced(node, x, b.axes[i], b.starts[i], b.ends[i], b.steps[i]);
  }
  node.set(0, x);
}

// ---- pad

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

// ---- repetition

void expand(Node& node) {
  const Expr x = node.in(0);
  node.set(0, broadcast_to(x, broadcast_shape(x.shape(), node.known_integers(1))));
}

// Repeats the whole of each dimension.
Expr tile(const Expr& x, const Dims& repeats) {
  Dims wide, dims, shape;
  for (size_t d = 0; d < repeats.size(); ++d) {
    wide.push_back(repeats[d]);
    dims.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(x.shape()[d]);
    shape.push_back(repeats[d] * x.shape()[d]);
  }
  return reshape(broadcast_in(x, std::move(wide), std::move(dims)), std::move(shape));
}

void tile_op(Node& node) {
  const Expr x = node.in(0);
  Dims repeats(x.shape().size(), 1);
  if (node.opset() < 6) {  // a number of tiles along one axis
    const int64_t tiles = node.known_integer(1);
    repeats[static_cast<size_t>(node.axis(node.known_integer(2), x.rank()))] = tiles;
  } else {
    repeats = node.known_integers(1);
  }
  node.require(static_cast<int64_t>(repeats.size()) == x.rank(),
               "it has not one repeat per dimension");
  for (size_t d = 0; d < repeats.size(); ++d) {
    node.require(repeats[d] >= 0 && repeats[d] <= (int64_t{1} << 31), "a repeat is out of range");
    node.require(x.shape()[d] <= (int64_t{1} << 31), "the result is too large");
  }
  node.set(0, tile(x, repeats));
}

// ---- shapes as values

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

void trilu(Node& node) {
  const Expr x = node.in(0);
  node.require(x.rank() >= 2, "its input is no matrix");
  const double k = node.has(1) ? static_cast<double>(node.known_integer(1)) : 0;
  const TensorType index{DType::kS64, x.shape()};
  const Expr row = iota(node.writer(), index, x.rank() - 2) + k;
  const Expr column = iota(node.writer(), index, x.rank() - 1);
  node.set(
      0, select(node.flag("upper", true) ? less_equal(row, column) : greater_equal(row, column), x,
                0.0));
}

// ---- blocks

int64_t block_size(Node& node, const Expr& x) {
  node.require(x.rank() == 4, "its input has not four dimensions");
  return node.at_least(1, node.integer("blocksize"), "its attribute blocksize");
}

void depth_to_space(Node& node) {
  const Expr x = node.in(0);
  const int64_t b = block_size(node, x);
  node.require(x.dim(1) % (b * b) == 0, "blocks do not divide the channels");
  const int64_t depth = x.dim(1) / (b * b);
  const bool columns_first = node.text("mode", "DCR") == "CRD";
  const Expr split =
      columns_first
          ? transpose(reshape(x, {x.dim(0), depth, b, b, x.dim(2), x.dim(3)}), {0, 1, 4, 2, 5, 3})
          : transpose(reshape(x, {x.dim(0), b, b, depth, x.dim(2), x.dim(3)}), {0, 3, 4, 1, 5, 2});
  node.set(0, reshape(split, {x.dim(0), depth, x.dim(2) * b, x.dim(3) * b}));
}

void space_to_depth(Node& node) {
  const Expr x = node.in(0);
  const int64_t b = block_size(node, x);
  node.require(x.dim(2) % b == 0 && x.dim(3) % b == 0, "blocks do not divide the image");
  const int64_t rows = x.dim(2) / b, columns = x.dim(3) / b;
  const bool columns_first = node.text("mode", "DCR") == "CRD";
  const Expr split = transpose(reshape(x, {x.dim(0), x.dim(1), rows, b, columns, b}),
                               columns_first ? Dims{0, 1, 3, 5, 2, 4} : Dims{0, 3, 5, 1, 2, 4});
  node.set(0, reshape(split, {x.dim(0), x.dim(1) * b * b, rows, columns}));
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

std::span<const OpHandler> shape_ops() {
  static constexpr OpHandler kOps[] = {
      {"CenterCropPad", center_crop_pad},
      {"Concat", concat},
      {"Constant", constant_op, Accepts::kAnything},
      {"ConstantOfShape", constant_of_shape},
      {"DepthToSpace", depth_to_space},
      {"Expand", expand},
      {"EyeLike", eye_like},
      {"Flatten", flatten_op},
      {"Pad", pad_op},
      {"Range", range, Accepts::kNumbers},
      {"Reshape", reshape_op},
      {"Shape", shape_op},
      {"Size", size_op},
      {"Slice", slice_op},
      {"SpaceToDepth", space_to_depth},
      {"Split", split},
      {"Squeeze", squeeze_op},
      {"Tile", tile_op},
      {"Transpose", transpose_op},
      {"Trilu", trilu},
      {"Trilu", trilu, Accepts::kTensors, 1, kMicrosoft},
      {"Unsqueeze", unsqueeze_op},
  };
  return kOps;
}

}  // namespace spmd::onnx
