// Windows, Fourier transforms and filter banks.
#include <cmath>
#include <numbers>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

// c0 - c1 cos(t) + c2 cos(2 t) over a period, or with its first value again at the end.
void cosine_window(Node& node, double c0, double c1, double c2) {
  const int64_t size = node.at_least(0, node.known_integer(0), "its size");
  const DType dtype =
      node.has_attribute("output_datatype") ? node.dtype("output_datatype") : DType::kF32;
  const bool periodic = node.flag("periodic", true);
  const auto period = static_cast<double>(periodic ? size : size - 1);
  const Expr t =
      iota(node.writer(), {DType::kF64, {size}}, 0) * (period == 0 ? 0 : kTwoPi / period);
  node.set(0, convert(c0 - cosine(t) * c1 + cosine(t * 2.0) * c2, dtype));
}

void hann_window(Node& node) { cosine_window(node, 0.5, 0.5, 0); }
void hamming_window(Node& node) { cosine_window(node, 25.0 / 46, 21.0 / 46, 0); }
void blackman_window(Node& node) { cosine_window(node, 0.42, 0.5, 0.08); }

// A constant matrix of cos or sin of 2 pi row column / n.
Expr wave(Writer& writer, DType dtype, int64_t rows, int64_t columns, int64_t n, bool sine) {
  Literal literal(TensorType{DType::kF64, {rows, columns}});
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      // Reduced first, so that large products lose nothing.
      const double angle = kTwoPi * static_cast<double>(r * c % n) / static_cast<double>(n);
      literal.mutable_as<double>()[r * columns + c] = sine ? std::sin(angle) : std::cos(angle);
    }
  }
  return convert(constant(writer, std::move(literal)), dtype);
}

struct Complex {
  Expr re, im;  // im: none when real
};

Expr transformed(const Expr& x, const Expr& matrix) {
  DotAttrs attrs;
  attrs.lhs_contracting = {x.rank() - 1};
  attrs.rhs_contracting = {0};
  return dot(x, matrix, std::move(attrs));
}

// The discrete Fourier transform along the last dimension, as a product with the matrix of roots of
// unity: the first `bins` of n frequencies.
Complex fourier(Node& node, const Complex& x, int64_t n, int64_t bins, bool inverse) {
  const int64_t length = std::min(x.re.dim(x.re.rank() - 1), n);
  node.check_table(static_cast<double>(length) * static_cast<double>(bins));
  Writer& writer = node.writer();
  const DType dtype = x.re.dtype();
  const Expr c = wave(writer, dtype, length, bins, n, false);
  Expr s = wave(writer, dtype, length, bins, n, true);
  if (!inverse) s = -s;
  const auto cut = [&](const Expr& part) { return slice_dim(part, part.rank() - 1, 0, length); };
  Complex result{transformed(cut(x.re), c), transformed(cut(x.re), s)};
  if (x.im) {
    result.re = result.re - transformed(cut(x.im), s);
    result.im = result.im + transformed(cut(x.im), c);
  }
  if (inverse) {
    const double scale = 1 / static_cast<double>(n);
    result = {result.re * scale, result.im * scale};
  }
  return result;
}

// Splits [..., parts] of 1 (real) or 2 numbers.
Complex parts_of(Node& node, const Expr& x) {
  const int64_t last = x.rank() - 1;
  node.require(x.rank() >= 2 && (x.dim(last) == 1 || x.dim(last) == 2),
               "its last dimension is neither real nor complex");
  const auto part = [&](int64_t i) { return squeeze(slice_dim(x, last, i, i + 1), last); };
  return {part(0), x.dim(last) == 2 ? part(1) : Expr()};
}

Expr joined(const Complex& x) {
  const Expr parts[] = {unsqueeze(x.re, x.re.rank()), unsqueeze(x.im, x.im.rank())};
  return concatenate(parts, x.re.rank());
}

void dft(Node& node) {
  const Expr x = node.in(0);
  Complex value = parts_of(node, x);
  const int64_t rank = value.re.rank();
  const bool axis_input = node.opset() >= 20;
  const int64_t given =
      axis_input ? (node.has(2) ? node.known_integer(2) : -2) : node.integer("axis", 1);
  // Counted among the input's dimensions, of which the last holds the parts.
  const int64_t dim = node.axis(given, rank + 1);
  node.require(dim < rank, "its axis is the dimension of real and imaginary parts");
  const bool inverse = node.flag("inverse", false), onesided = node.flag("onesided", false);
  const auto to_end = [&](const Expr& part) { return part ? move_dim(part, dim, rank - 1) : part; };
  value = {to_end(value.re), to_end(value.im)};
  const int64_t length = value.re.dim(rank - 1);
  const int64_t n = node.has(1) ? node.at_least(1, node.known_integer(1), "its length") : length;
  node.require(n > 0, "it transforms nothing");
  if (onesided && inverse) {  // from half a spectrum to real values
    node.require(static_cast<bool>(value.im), "half a spectrum must be complex");
    const int64_t full = node.has(1) ? n : 2 * (length - 1);
    node.require(full > 0 && length > full / 2, "its spectrum is too short");
    const auto mirrored = [&](const Expr& part, bool negated) {
      const Expr half = slice_dim(part, rank - 1, 0, full / 2 + 1);
      const Expr rest = reverse(slice_dim(part, rank - 1, 1, (full + 1) / 2), {rank - 1});
      const Expr both[] = {half, negated ? -rest : rest};
      return concatenate(both, rank - 1);
    };
    const Complex whole{mirrored(value.re, false), mirrored(value.im, true)};
    const Expr real = fourier(node, whole, full, full, true).re;
    return node.set(0, unsqueeze(move_dim(real, rank - 1, dim), rank));
  }
  const Complex result = fourier(node, value, n, onesided ? n / 2 + 1 : n, inverse);
  node.set(0, joined({move_dim(result.re, rank - 1, dim), move_dim(result.im, rank - 1, dim)}));
}

// Transforms of overlapping frames of [batch, length, 1 or 2].
void stft(Node& node) {
  const Expr x = node.in(0);
  const Complex signal = x.rank() == 2 ? Complex{x, {}} : parts_of(node, x);
  node.require(signal.re.rank() == 2, "its signal has not two dimensions");
  const int64_t step = node.at_least(1, node.known_integer(1), "its frame step");
  const Expr window = node.in_or_none(2);
  const int64_t size = node.has(3) ? node.known_integer(3) : window ? window.num_elements() : 0;
  const int64_t length = signal.re.dim(1);
  node.require(size >= 1 && size <= length, "its frames do not fit its signal");
  node.require(!window || window.shape() == Dims{size}, "its window does not fit its frames");
  const int64_t frames = (length - size) / step + 1;
  node.check_table(static_cast<double>(frames) * static_cast<double>(size));
  Dims positions;
  for (int64_t f = 0; f < frames; ++f) {
    for (int64_t i = 0; i < size; ++i) positions.push_back(f * step + i);
  }
  const auto framed = [&](const Expr& part) {
    if (!part) return part;
    const Expr found = take(part, reshape(integers(node.writer(), positions), {frames, size}), 1);
    return window ? found * window : found;
  };
  const int64_t bins = node.flag("onesided", true) ? size / 2 + 1 : size;
  node.set(0, joined(fourier(node, {framed(signal.re), framed(signal.im)}, size, bins, false)));
}

// Triangular filters, evenly spaced on the mel scale: a constant.
void mel_weight_matrix(Node& node) {
  const int64_t mels = node.known_integer(0), size = node.known_integer(1),
                rate = node.known_integer(2);
  const double low = node.known_numbers(3).at(0), high = node.known_numbers(4).at(0);
  node.require(mels >= 1 && mels < (1 << 16) && size >= 1 && size < (1 << 24) && rate >= 1,
               "its sizes are out of range");
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const auto hertz = [](double m) { return 700 * (std::pow(10, m / 2595) - 1); };
  const int64_t bins = size / 2 + 1;
  node.check_table(static_cast<double>(bins) * static_cast<double>(mels));
  const double step = (mel(high) - mel(low)) / static_cast<double>(mels + 2);
  std::vector<double> edges;  // in bins
  for (int64_t i = 0; i < mels + 2; ++i) {
    const double frequency = hertz(mel(low) + step * static_cast<double>(i));
    edges.push_back(
        std::floor(static_cast<double>(size + 1) * frequency / static_cast<double>(rate)));
  }
  Literal weights(TensorType{DType::kF64, {bins, mels}});
  for (int64_t m = 0; m < mels; ++m) {
    const auto at = static_cast<size_t>(m);
    const double left = edges[at], center = edges[at + 1], right = edges[at + 2];
    for (int64_t b = 0; b < bins; ++b) {
      const auto x = static_cast<double>(b);
      double weight = 0;
      if (x >= left && x < center) weight = (x - left) / (center - left);
      if (x == center) weight = 1;
      if (x > center && x < right) weight = (right - x) / (right - center);
      weights.mutable_as<double>()[b * mels + m] = weight;
    }
  }
  const DType dtype =
      node.has_attribute("output_datatype") ? node.dtype("output_datatype") : DType::kF32;
  node.set(0, convert(constant(node.writer(), std::move(weights)), dtype));
}

}  // namespace

std::span<const OpHandler> signal_ops() {
  static constexpr OpHandler kOps[] = {
      {"BlackmanWindow", blackman_window},    {"DFT", dft, Accepts::kFloats},
      {"HammingWindow", hamming_window},      {"HannWindow", hann_window},
      {"MelWeightMatrix", mel_weight_matrix}, {"STFT", stft, Accepts::kFloats},
  };
  return kOps;
}

}  // namespace spmd::onnx
