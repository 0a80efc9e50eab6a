// Ops that only move elements.
#include <algorithm>

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

}  // namespace

std::span<const OpHandler> shape_ops() {
  static constexpr OpHandler kOps[] = {
      {"Concat", concat},
      {"DepthToSpace", depth_to_space},
      {"Expand", expand},
      {"Flatten", flatten_op},
      {"Reshape", reshape_op},
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
