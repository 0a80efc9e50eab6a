// Convolutions, transposed ones, and what undoes their patches.
#include <algorithm>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"
#include "frontends/onnx/ops/convolutions.h"
#include "frontends/onnx/ops/sampling.h"
#include "frontends/onnx/ops/windows.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

Dims spatial_sizes(const Expr& x) { return Dims(x.shape().begin() + 2, x.shape().end()); }

// Dimension numbers of ONNX: [batch, channels, spatial...] and [outputs, inputs, spatial...].
ConvolutionAttrs onnx_layout(int64_t rank) {
  ConvolutionAttrs attrs;
  attrs.input_feature = attrs.output_feature = attrs.kernel_input_feature = 1;
  attrs.input_spatial = attrs.kernel_spatial = attrs.output_spatial = dims_from(2, rank);
  const auto spatial = static_cast<size_t>(rank - 2);
  attrs.stride.assign(spatial, 1);
  attrs.lhs_dilation = attrs.rhs_dilation = attrs.stride;
  attrs.reversal.assign(spatial, false);
  return attrs;
}

void check_operands(Node& node, const Expr& x, const Expr& kernel) {
  node.require(x.rank() >= 3, "its input has no spatial dimensions");
  node.require(kernel.rank() == x.rank(), "its kernel's rank does not fit its input");
}

Expr with_bias(Node& node, const Expr& x, int input) {
  const Expr bias = node.in_or_none(input);
  if (!bias) return x;
  node.require(bias.rank() == 1, "its bias has not one dimension");
  return x + per_channel(x, bias);
}

void conv(Node& node) {
  const Expr x = node.in(0), kernel = node.in(1);
  node.set(0, with_bias(node, convolve(node, x, kernel), 2));
}

// The kernel of a transposed convolution, [inputs, outputs / groups, spatial...], as that of the
// convolution of the dilated input: [inputs / groups, outputs, spatial...].
Expr regrouped(const Expr& kernel, int64_t groups) {
  Dims split = kernel.shape();
  split[0] /= groups;
  split.insert(split.begin(), groups);
  Dims shape = kernel.shape();
  shape[0] /= groups;
  shape[1] *= groups;
  return reshape(move_dim(reshape(kernel, split), 0, 1), shape);
}

struct Transposed {
  Dims low, high;  // padding that is taken off the full result
};

// What the attributes say of the result's size: pads, or the shape itself.
Transposed result_padding(Node& node, const Window& window, const Dims& input, const Dims& extra) {
  Transposed padding{window.low, window.high};
  const std::string mode = node.text("auto_pad", "NOTSET");
  const auto shape = node.integers("output_shape");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!shape && !same) return padding;
  for (size_t i = 0; i < input.size(); ++i) {
    int64_t wanted = input[i] * window.stride[i];
    if (shape) {
      node.require(shape->size() >= input.size(), "its attribute output_shape is too short");
      wanted = (*shape)[shape->size() - input.size() + i];
    }
    const int64_t total = (input[i] - 1) * window.stride[i] + extra[i] + window.extent(i) - wanted;
    // The odd element is taken off the end with SAME_UPPER, else off the beginning; what the full
    // result lacks is added at the end.
    padding.low[i] = total < 0 ? 0 : mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    padding.high[i] = total - padding.low[i];
  }
  return padding;
}

void conv_transpose(Node& node) {
  const Expr x = node.in(0), kernel = node.in(1);
  check_operands(node, x, kernel);
  const int64_t groups = node.at_least(1, node.integer("group", 1), "its attribute group");
  node.require(x.dim(1) % groups == 0 && kernel.dim(0) == x.dim(1),
               "its groups or its kernel do not fit the channels");
  const Dims input = spatial_sizes(x);
  const Window window = window_of(node, input, spatial_sizes(kernel));
  const Dims extra = node.integers("output_padding").value_or(Dims(input.size(), 0));
  node.require(extra.size() == input.size(), "its attribute output_padding has a wrong length");
  const Transposed padding = result_padding(node, window, input, extra);
  ConvolutionAttrs attrs = onnx_layout(x.rank());
  attrs.kernel_input_feature = 0;
  attrs.kernel_output_feature = 1;
  attrs.lhs_dilation = window.stride;
  attrs.rhs_dilation = window.dilation;
  attrs.reversal.assign(input.size(), true);
  attrs.feature_group_count = groups;
  for (size_t i = 0; i < input.size(); ++i) {
    attrs.pad_low.push_back(window.extent(i) - 1 - padding.low[i]);
    attrs.pad_high.push_back(window.extent(i) - 1 - padding.high[i] + extra[i]);
  }
  const Expr result(node.writer(),
                    x.builder().value(OpCode::kConvolution,
                                      {x.id(), regrouped(kernel, groups).id()}, std::move(attrs)));
  node.set(0, with_bias(node, result, 2));
}

// ---- deformable convolution

// The numbers k * step, for k along one dimension of the kernel, in its row-major order over
// [kernel_height, kernel_width].
Expr kernel_steps(Writer& writer, DType dtype, const Dims& kernel, int64_t dim, int64_t step) {
  const Expr k = iota(writer, {dtype, kernel}, dim);
  return reshape(k * static_cast<double>(step), {kernel[0] * kernel[1]});
}

// Patches [batch, channels, kernel, height, width] of x at positions that `offsets` move, one set
// of them for each of `groups` groups of channels.
Expr deformed_patches(Node& node, const Expr& x, const Expr& offsets, const Window& window,
                      int64_t groups) {
  const int64_t area = window.size[0] * window.size[1];
  const int64_t height = window.positions(0, x.dim(2)), width = window.positions(1, x.dim(3));
  const int64_t batch = x.dim(0), channels = x.dim(1) / groups;
  node.require(offsets.shape() == Dims({batch, groups * area * 2, height, width}),
               "its offsets do not fit its input");
  const Expr moves = reshape(offsets, {batch * groups, area, 2, height, width});
  std::vector<Expr> positions;
  for (int64_t d = 0; d < 2; ++d) {
    const auto at = static_cast<size_t>(d);
    const Expr move = squeeze(slice_dim(moves, 2, d, d + 1), 2);
    const Expr steps = kernel_steps(node.writer(), x.dtype(), window.size, d, window.dilation[at]);
    const Expr start =
        iota(node.writer(), move.type(), d + 2) * static_cast<double>(window.stride[at]) -
        static_cast<double>(window.low[at]);
    positions.push_back(move + start + broadcast_along(steps, move.shape(), 1));
  }
  const Expr image =
      transpose(reshape(x, {batch * groups, channels, x.dim(2), x.dim(3)}), {0, 2, 3, 1});
  Expr values = sampled(image, positions, {});  // [batch * groups, kernel, height, width, channels]
  if (const Expr mask = node.in_or_none(4)) {
    node.require(mask.num_elements() * 2 == offsets.num_elements(), "its mask does not fit");
    values = values * unsqueeze(reshape(mask, {batch * groups, area, height, width}), 4);
  }
  return reshape(move_dim(values, 4, 1), {batch, x.dim(1), area, height, width});
}

void deform_conv(Node& node) {
  const Expr x = node.in(0), kernel = node.in(1);
  node.require(x.rank() == 4 && kernel.rank() == 4, "its input or kernel has not four dimensions");
  const int64_t groups = node.at_least(1, node.integer("group", 1), "its attribute group");
  const int64_t sets = node.at_least(1, node.integer("offset_group", 1), "offset_group");
  node.require(x.dim(1) % groups == 0 && x.dim(1) % sets == 0 && kernel.dim(0) % groups == 0 &&
                   kernel.dim(1) == x.dim(1) / groups,
               "its groups or its kernel do not fit the channels");
  const Window window = window_of(node, spatial_sizes(x), spatial_sizes(kernel));
  const Expr patches = deformed_patches(node, x, node.in(2), window, sets);
  const int64_t area = patches.dim(2), height = patches.dim(3), width = patches.dim(4);
  DotAttrs attrs;
  attrs.lhs_batch = {1};
  attrs.rhs_batch = {0};
  attrs.lhs_contracting = attrs.rhs_contracting = {2};
  const Expr columns = reshape(patches, {x.dim(0), groups, kernel.dim(1) * area, height, width});
  const Expr rows = reshape(kernel, {groups, kernel.dim(0) / groups, kernel.dim(1) * area});
  const Expr product = dot(columns, rows, std::move(attrs));  // [groups, batch, h, w, outputs]
  const Expr result =
      reshape(transpose(product, {1, 0, 4, 2, 3}), {x.dim(0), kernel.dim(0), height, width});
  node.set(0, with_bias(node, result, 3));
}

// ---- patches

// Positions, along one spatial dimension, of each element of each patch: [size, patches].
Dims patch_positions(const Window& window, size_t i, int64_t patches) {
  Dims positions;
  for (int64_t k = 0; k < window.size[i]; ++k) {
    for (int64_t p = 0; p < patches; ++p) {
      positions.push_back(p * window.stride[i] - window.low[i] + k * window.dilation[i]);
    }
  }
  return positions;
}

// A matrix [image, positions] of ones where a position of a patch is a place of the image.
Expr placement(const Expr& like, const Dims& positions, int64_t size) {
  const TensorType type{DType::kS64, {size, static_cast<int64_t>(positions.size())}};
  const Expr at = broadcast_in(integers(like.writer(), positions), type.shape, {1});
  return convert(equal(iota(like.writer(), type, 0), at), like.dtype());
}

// Adds up patches where they overlap: one matrix product per spatial dimension.
void col2im(Node& node) {
  const Expr x = node.in(0);
  const Dims image = node.known_integers(1), block = node.known_integers(2);
  node.require(x.rank() == 3 && image.size() == block.size() && !image.empty(),
               "its input or shapes are malformed");
  int64_t area = 1;
  for (int64_t size : block)
    area *= node.at_least(1, std::min<int64_t>(size, 1 << 20), "a block size");
  const Window window = window_of(node, image, block);
  node.require(x.dim(1) % area == 0, "blocks do not divide its channels");
  Dims shape = {x.dim(0), x.dim(1) / area};
  shape.insert(shape.end(), block.begin(), block.end());
  int64_t patches = 1;
  for (size_t i = 0; i < image.size(); ++i) {
    shape.push_back(std::max<int64_t>(window.positions(i, image[i]), 0));
    patches *= shape.back();
  }
  node.require(patches == x.dim(2), "it has another number of patches than its shapes say");
  Expr result = reshape(x, shape);
  const auto spatial = static_cast<int64_t>(image.size());
  for (int64_t i = 0; i < spatial; ++i) {
    // [batch, channels, done..., block_i, ..., patches_i, ...] to one dimension of the image.
    const auto at = static_cast<size_t>(i);
    const int64_t count = window.positions(at, image[at]);
    node.check_table(static_cast<double>(count) * static_cast<double>(window.size[at]));
    const int64_t place = 2 + i, patch = place + (spatial - i);
    Expr moved = move_dim(result, patch, place + 1);
    Dims merged = moved.shape();
    merged[static_cast<size_t>(place)] *= merged[static_cast<size_t>(place) + 1];
    merged.erase(merged.begin() + place + 1);
    moved = move_dim(reshape(moved, merged), place, static_cast<int64_t>(merged.size()) - 1);
    const Expr matrix = placement(x, patch_positions(window, at, count), image[at]);
    DotAttrs attrs;
    attrs.lhs_contracting = {moved.rank() - 1};
    attrs.rhs_contracting = {1};
    const Expr placed = dot(moved, matrix, std::move(attrs));
    result = move_dim(placed, placed.rank() - 1, place);
  }
  node.set(0, result);
}

}  // namespace

Expr convolve(Node& node, const Expr& x, const Expr& kernel) {
  check_operands(node, x, kernel);
  const int64_t groups = node.at_least(1, node.integer("group", 1), "its attribute group");
  const Window window = window_of(node, spatial_sizes(x), spatial_sizes(kernel));
  ConvolutionAttrs attrs = onnx_layout(x.rank());
  attrs.stride = window.stride;
  attrs.rhs_dilation = window.dilation;
  attrs.pad_low = window.low;
  attrs.pad_high = window.high;
  attrs.feature_group_count = groups;
  return {node.writer(),
          x.builder().value(OpCode::kConvolution, {x.id(), kernel.id()}, std::move(attrs))};
}

std::span<const OpHandler> convolution_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"Col2Im", col2im, kFloats},
      {"Conv", conv, kFloats},
      {"ConvTranspose", conv_transpose, kFloats},
      {"DeformConv", deform_conv, kFloats},
  };
  return kOps;
}

}  // namespace spmd::onnx
