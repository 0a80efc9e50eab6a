// Sampling of images at given points: GridSample, AffineGrid, RoiAlign.
#include <algorithm>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"
#include "frontends/onnx/ops/sampling.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

// From [-1, 1] to positions among `size` elements.
Expr unnormalised(const Expr& x, int64_t size, bool align_corners) {
  const auto n = static_cast<double>(size);
  return align_corners ? (x + 1.0) * ((n - 1) / 2) : ((x + 1.0) * n - 1.0) * 0.5;
}

void grid_sample(Node& node) {
  const Expr x = node.in(0);
  const Expr grid = convert(node.in(1), compute_type(x.dtype()));
  const int64_t spatial = x.rank() - 2;
  node.require(spatial >= 1 && grid.rank() == x.rank() && grid.dim(grid.rank() - 1) == spatial &&
                   grid.dim(0) == x.dim(0),
               "its grid does not fit its input");
  Sampling s;
  s.align_corners = node.flag("align_corners", false);
  s.padding = node.text("padding_mode", "zeros");
  s.mode = node.text("mode", "linear");
  if (s.mode == "bilinear") s.mode = "linear";
  if (s.mode == "bicubic") s.mode = "cubic";
  node.require(s.padding == "zeros" || s.padding == "border" || s.padding == "reflection",
               "its attribute padding_mode is unknown");
  node.require(s.mode == "linear" || s.mode == "cubic" || s.mode == "nearest",
               "its attribute mode is unknown");
  const Expr image = convert(move_dim(x, 1, x.rank() - 1), grid.dtype());
  // The grid's last dimension counts from the image's last.
  std::vector<Expr> positions;
  for (int64_t d = 0; d < spatial; ++d) {
    const int64_t component = spatial - 1 - d;
    const Expr at =
        squeeze(slice_dim(grid, grid.rank() - 1, component, component + 1), grid.rank() - 1);
    positions.push_back(unnormalised(at, x.dim(d + 2), s.align_corners));
  }
  const Expr found = sampled(image, positions, s);
  node.set(0, convert(move_dim(found, found.rank() - 1, 1), x.dtype()));
}

// Positions -1 ... 1 of `size` elements.
Expr normalised_positions(Writer& writer, DType dtype, int64_t size, bool align_corners) {
  const auto n = static_cast<double>(size);
  const Expr i = iota(writer, {dtype, {size}}, 0);
  if (align_corners) return size > 1 ? i * (2 / (n - 1)) - 1.0 : i * 0.0 - 1.0;
  return (i * 2.0 + 1.0) / n - 1.0;
}

void affine_grid(Node& node) {
  const Expr theta = node.in(0);
  const Dims size = node.known_integers(1);
  const auto spatial = static_cast<int64_t>(size.size()) - 2;
  node.require(spatial == 2 || spatial == 3, "its size is neither 4 nor 5 numbers");
  node.require(theta.shape() == Dims({size[0], spatial, spatial + 1}), "its matrices do not fit");
  const bool align = node.flag("align_corners", false);
  Dims shape(size.begin() + 2, size.end());
  for (int64_t s : shape) node.require(s > 0, "its size is out of range");
  std::vector<Expr> parts;
  const Dims image = shape;
  shape.push_back(1);
  for (int64_t d = spatial - 1; d >= 0; --d) {  // the last dimension first
    const Expr line =
        normalised_positions(node.writer(), theta.dtype(), image[static_cast<size_t>(d)], align);
    parts.push_back(broadcast_in(line, shape, {d}));
  }
  parts.push_back(splat(node.writer(), {theta.dtype(), shape}, 1));
  const Expr points = concatenate(parts, spatial);  // [spatial..., coordinates + 1]
  DotAttrs attrs;
  attrs.lhs_contracting = {2};
  attrs.rhs_contracting = {spatial};
  const Expr grid = dot(theta, points, std::move(attrs));  // [batch, coordinates, spatial...]
  node.set(0, move_dim(grid, 1, grid.rank() - 1));
}

// ---- regions of interest

// Sample positions along one dimension: [regions, bins * samples].
Expr sample_positions(const Expr& start, const Expr& length, int64_t bins, int64_t samples) {
  const TensorType type{start.dtype(), {start.dim(0), bins * samples}};
  const Expr step = length / static_cast<double>(bins * samples);
  const Expr i = iota(start.writer(), type, 1) + 0.5;
  return broadcast_in(start, type.shape, {0}) + i * broadcast_in(step, type.shape, {0});
}

// What of the image's lines each sample takes, [regions, samples, size]: bilinear, and nothing
// outside. `side` 0 is the line before the sample, 1 the one after it.
Expr line_weights(const Expr& positions, int64_t size, int side) {
  const auto n = static_cast<double>(size);
  const Expr outside = less(positions, -1.0) | greater(positions, n);
  const Expr at = clamp(0, positions, n - 1), before = floor(at), share = at - before;
  Dims shape = positions.shape();
  shape.push_back(size);
  const Expr line = iota(positions.writer(), {positions.dtype(), shape}, 2);
  const auto spread = [&](const Expr& x) { return broadcast_in(x, shape, {0, 1}); };
  const Expr here = equal(line, spread(side == 0 ? before : before + 1.0));
  const Expr weight = select(outside, 0.0, side == 0 ? 1.0 - share : share);
  return select(here, spread(weight), 0.0);
}

// Values at the samples of each region, [regions, channels, rows, columns], from weights of the
// lines of images [regions, channels, height, width].
Expr region_samples(const Expr& images, const Expr& rows, const Expr& columns) {
  DotAttrs down, across;
  down.lhs_batch = down.rhs_batch = across.lhs_batch = across.rhs_batch = {0};
  down.lhs_contracting = {2};
  down.rhs_contracting = {2};
  const Expr lines = dot(images, rows, std::move(down));  // [regions, channels, width, rows]
  across.lhs_contracting = {2};
  across.rhs_contracting = {2};
  return dot(lines, columns, std::move(across));
}

void roi_align(Node& node) {
  const Expr x = node.in(0), regions = node.in(1), batch = node.in(2);
  node.require(x.rank() == 4 && regions.rank() == 2 && regions.dim(1) == 4,
               "its inputs are malformed");
  const std::string mode = node.text("mode", "avg");
  node.require(mode == "avg" || mode == "max", "its attribute mode is unknown");
  const int64_t height = node.at_least(1, node.integer("output_height", 1), "output_height");
  const int64_t width = node.at_least(1, node.integer("output_width", 1), "output_width");
  const int64_t samples = node.integer("sampling_ratio", 0);
  if (samples <= 0) node.unsupported("a sampling ratio that depends on the regions (0)");
  const std::string transform = node.text("coordinate_transformation_mode",
                                          node.opset() < 16 ? "output_half_pixel" : "half_pixel");
  const bool half_pixel = transform == "half_pixel";
  const double scale = node.number("spatial_scale", 1);
  const auto bound = [&](int64_t i) {
    const Expr column = squeeze(slice_dim(regions, 1, i, i + 1), 1) * scale;
    return half_pixel ? column - 0.5 : column;
  };
  const auto length = [&](const Expr& from, const Expr& to) {
    return half_pixel ? to - from : max(to - from, 1.0);
  };
  const Expr left = bound(0), top = bound(1);
  const Expr down = sample_positions(top, length(top, bound(3)), height, samples);
  const Expr across = sample_positions(left, length(left, bound(2)), width, samples);
  const Expr images = take(x, batch, 0);  // [regions, channels, height, width]
  // The four neighbours of each sample: their sum is the interpolated value, but mode "max" takes
  // the largest of them.
  Expr result;
  for (int corner = 0; corner < 4; ++corner) {
    const Expr value = region_samples(images, line_weights(down, x.dim(2), corner / 2),
                                      line_weights(across, x.dim(3), corner % 2));
    if (corner == 0) {
      result = value;
    } else {
      result = mode == "max" ? max(result, value) : result + value;
    }
  }
  const Expr bins = reshape(result, {regions.dim(0), x.dim(1), height, samples, width, samples});
  node.set(0, mode == "max" ? reduce_max(bins, {3, 5}) : mean(bins, {3, 5}));
}

}  // namespace

std::span<const OpHandler> image_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"AffineGrid", affine_grid, kFloats},
      {"GridSample", grid_sample, kNumbers},
      {"RoiAlign", roi_align, kFloats},
  };
  return kOps;
}

}  // namespace spmd::onnx
