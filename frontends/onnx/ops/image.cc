// Sampling of images at given points: GridSample, AffineGrid, RoiAlign.
#include <algorithm>
#include <functional>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

// ---- grid sampling

struct Sampling {
  bool align_corners = false;
  std::string padding = "zeros";  // zeros, border, reflection
  std::string mode = "linear";    // nearest, linear, cubic
};

// From [-1, 1] to positions among `size` elements.
Expr unnormalised(const Expr& x, int64_t size, bool align_corners) {
  const auto n = static_cast<double>(size);
  return align_corners ? (x + 1.0) * ((n - 1) / 2) : ((x + 1.0) * n - 1.0) * 0.5;
}

// A position mirrored at both borders until it lies between them.
Expr reflected(const Expr& x, int64_t size, bool align_corners) {
  const double low = align_corners ? 0 : -0.5;
  const double span = align_corners ? static_cast<double>(size) - 1 : static_cast<double>(size);
  if (span <= 0) return x * 0.0;
  const Expr distance = abs(x - low);
  const Expr folds = floor(distance / span);
  const Expr rest = distance - folds * span;
  const Expr odd = not_equal(folds - floor(folds * 0.5) * 2.0, 0.0);
  return select(odd, span - rest, rest) + low;
}

// An element's index along one dimension, and whether it lies in the image; a position is a whole
// number.
struct Place {
  Expr index, inside;
};

Place place_of(const Expr& position, int64_t size, const Sampling& s) {
  Expr at = position;
  if (s.padding == "reflection") at = reflected(at, size, s.align_corners);
  const double last = static_cast<double>(size) - 1;
  Place place;
  if (s.padding == "zeros") {
    place.inside = greater_equal(at, 0.0) & less_equal(at, last);
  }
  place.index = convert(clamp(0, at, last), DType::kS64);
  return place;
}

// Candidates along one dimension: places and weights.
struct Candidate {
  Place place;
  Expr weight;  // none: 1
};

std::vector<Candidate> candidates(Expr x, int64_t size, const Sampling& s) {
  x = unnormalised(x, size, s.align_corners);
  const double last = static_cast<double>(size) - 1;
  if (s.mode != "cubic") {  // cubic keeps its weights where its places are moved
    if (s.padding == "reflection") x = reflected(x, size, s.align_corners);
    if (s.padding != "zeros") x = clamp(0, x, last);
  }
  if (s.mode == "nearest") return {{place_of(round_even(x), size, s), {}}};
  const Expr base = floor(x), t = x - base;
  if (s.mode == "linear") {
    return {{place_of(base, size, s), 1.0 - t}, {place_of(base + 1.0, size, s), t}};
  }
  constexpr double a = -0.75;
  const auto near = [&](const Expr& d) { return ((d * (a + 2) - (a + 3)) * d) * d + 1.0; };
  const auto far = [&](const Expr& d) { return ((d * a - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {{place_of(base - 1.0, size, s), far(t + 1.0)},
          {place_of(base, size, s), near(t)},
          {place_of(base + 1.0, size, s), near(1.0 - t)},
          {place_of(base + 2.0, size, s), far(2.0 - t)}};
}

// Pixels [batch, points..., channels] of an image [batch, spatial..., channels] at places, one per
// spatial dimension; zero outside.
Expr pixels(const Expr& image, const std::vector<const Candidate*>& at) {
  std::vector<Expr> index;
  Expr inside;
  for (const Candidate* candidate : at) {
    index.push_back(unsqueeze(candidate->place.index, candidate->place.index.rank()));
    const Expr& here = candidate->place.inside;
    if (here) inside = inside ? inside & here : here;
  }
  const Expr vectors = concatenate(index, index[0].rank() - 1);
  const Expr found = gather_nd(image, vectors, 1);
  if (!inside) return found;
  return select(broadcast_in(inside, found.shape(), dims_from(0, inside.rank())), found, 0.0);
}

Expr weighted(const Expr& values, const std::vector<const Candidate*>& at) {
  Expr result = values;
  for (const Candidate* candidate : at) {
    if (!candidate->weight) continue;
    result = result * broadcast_in(candidate->weight, result.shape(),
                                   dims_from(0, candidate->weight.rank()));
  }
  return result;
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
  std::vector<std::vector<Candidate>> choices;
  for (int64_t d = 0; d < spatial; ++d) {
    const int64_t component = spatial - 1 - d;
    const Expr at =
        squeeze(slice_dim(grid, grid.rank() - 1, component, component + 1), grid.rank() - 1);
    choices.push_back(candidates(at, x.dim(d + 2), s));
  }
  Expr total;
  std::vector<const Candidate*> chosen;
  const std::function<void()> add = [&] {
    if (chosen.size() == choices.size()) {
      const Expr term = weighted(pixels(image, chosen), chosen);
      total = total ? total + term : term;
      return;
    }
    for (const Candidate& candidate : choices[chosen.size()]) {
      chosen.push_back(&candidate);
      add();
      chosen.pop_back();
    }
  };
  add();
  node.set(0, convert(move_dim(total, total.rank() - 1, 1), x.dtype()));
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

// Weights of the image's lines for each sample, [regions, samples, size]: bilinear, and none
// outside.
Expr line_weights(const Expr& positions, int64_t size) {
  const auto n = static_cast<double>(size);
  const Expr outside = less(positions, -1.0) | greater(positions, n);
  const Expr at = clamp(0, positions, n - 1);
  Dims shape = positions.shape();
  shape.push_back(size);
  const Expr line = iota(positions.writer(), {positions.dtype(), shape}, 2);
  const Expr weight = max(1.0 - abs(broadcast_in(at, shape, {0, 1}) - line), 0.0);
  return select(broadcast_in(outside, shape, {0, 1}), 0.0, weight);
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
  const Expr rows =
      line_weights(sample_positions(top, length(top, bound(3)), height, samples), x.dim(2));
  const Expr columns =
      line_weights(sample_positions(left, length(left, bound(2)), width, samples), x.dim(3));
  const Expr images = take(x, batch, 0);  // [regions, channels, height, width]
  // max mode takes the largest of the four weighted neighbours, not of the interpolated value.
  if (mode == "max") node.unsupported("mode \"max\"");
  DotAttrs down, across;
  down.lhs_batch = down.rhs_batch = across.lhs_batch = across.rhs_batch = {0};
  down.lhs_contracting = {2};
  down.rhs_contracting = {2};
  const Expr lines = dot(images, rows, std::move(down));  // [regions, channels, width, rows]
  across.lhs_contracting = {2};
  across.rhs_contracting = {2};
  const Expr values = dot(lines, columns, std::move(across));  // [regions, channels, rows, columns]
  const Expr bins = reshape(
      values, {x.dim(1) == 0 ? 0 : regions.dim(0), x.dim(1), height, samples, width, samples});
  node.set(0, mean(bins, {3, 5}));
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
