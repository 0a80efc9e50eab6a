#include "frontends/onnx/ops/sampling.h"

#include <functional>

#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

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

}  // namespace

Expr sampled(const Expr& image, const std::vector<Expr>& positions, const Sampling& sampling) {
  std::vector<std::vector<Candidate>> choices;
  for (size_t d = 0; d < positions.size(); ++d) {
    choices.push_back(candidates(positions[d], image.dim(static_cast<int64_t>(d) + 1), sampling));
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
  return total;
}

}  // namespace spmd::onnx
