// fft, cholesky and triangular_solve, in double precision.
#include <complex>

#include "ir/eval/elements.h"
#include "ir/eval/eval.h"
#include "ir/eval/strided.h"
#include "support/complex_functions.h"
#include "support/linear_algebra.h"

namespace spmd::eval {
namespace {

using Complex = std::complex<double>;

// ---- fft

// The discrete Fourier transform of a line, by its definition. `sign`: of the exponent.
void transform(std::vector<Complex>& line, int sign) {
  const auto n = static_cast<int64_t>(line.size());
  std::vector<Complex> roots(line.size()), result(line.size());
  for (int64_t k = 0; k < n; ++k) {
    const Complex root = complex_functions::unit_root(k, n);
    roots[static_cast<size_t>(k)] = sign > 0 ? root : std::conj(root);
  }
  for (int64_t k = 0; k < n; ++k) {
    Complex sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      sum += line[static_cast<size_t>(i)] * roots[static_cast<size_t>(i * k % n)];
    }
    result[static_cast<size_t>(k)] = sign > 0 ? sum / static_cast<double>(n) : sum;
  }
  line = std::move(result);
}

// A complex tensor whose dimension `dim` is read as lines of `from` numbers and becomes `to` long.
template <typename F>
Literal along(const Literal& x, size_t dim, int64_t to, F&& f) {
  Dims shape = x.type().shape;
  const int64_t from = shape[dim];
  int64_t inner = 1;
  for (size_t d = dim + 1; d < shape.size(); ++d) inner *= shape[d];
  shape[dim] = to;
  Literal result({DType::kC128, shape});
  if (result.type().num_elements() == 0) return result;
  const int64_t outer = result.type().num_elements() / (inner * to);
  const Elements<Complex> source(x);
  Complex* target = result.mutable_as<Complex>();
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      std::vector<Complex> line;
      for (int64_t k = 0; k < from; ++k) line.push_back(source[(o * from + k) * inner + i]);
      f(line);
      for (int64_t k = 0; k < to; ++k) {
        target[(o * to + k) * inner + i] = line[static_cast<size_t>(k)];
      }
    }
  }
  return result;
}

// All of a line whose second half is the first one's conjugate.
void complete(std::vector<Complex>& half, int64_t length) {
  std::vector<Complex> line(static_cast<size_t>(length));
  for (int64_t k = 0; k < length; ++k) {
    const bool stored = k <= length / 2;
    const Complex value = half[static_cast<size_t>(stored ? k : length - k)];
    line[static_cast<size_t>(k)] = stored ? value : std::conj(value);
  }
  // Frequencies that are their own mirror images have real coefficients.
  line[0] = line[0].real();
  if (length % 2 == 0)
    line[static_cast<size_t>(length / 2)] = line[static_cast<size_t>(length / 2)].real();
  half = std::move(line);
}

Literal fft(const Literal& operand, const FftAttrs& attrs, const TensorType& type) {
  Literal x = convert(operand, DType::kC128).expanded();
  const size_t rank = type.shape.size(), first = rank - attrs.length.size();
  const bool forward = attrs.kind == FftKind::kFft || attrs.kind == FftKind::kRfft;
  const auto plain = [&](size_t dim) {
    x = along(x, dim, x.type().shape[dim],
              [&](std::vector<Complex>& line) { transform(line, forward ? -1 : 1); });
  };
  if (attrs.kind != FftKind::kIrfft) plain(rank - 1);
  if (attrs.kind == FftKind::kRfft) {
    x = along(x, rank - 1, type.shape.back(), [](std::vector<Complex>&) {});
  }
  for (size_t dim = rank - 1; dim-- > first;) plain(dim);
  if (attrs.kind == FftKind::kIrfft) {
    x = along(x, rank - 1, type.shape.back(), [&](std::vector<Complex>& line) {
      complete(line, type.shape.back());
      transform(line, 1);
    });
  }
  return convert(x, type.dtype);
}

// ---- matrices

template <typename T>
Literal cholesky(const Literal& operand, bool lower, const TensorType& type) {
  constexpr DType kWide = std::is_same_v<T, double> ? DType::kF64 : DType::kC128;
  Literal x = convert(operand, kWide).expanded();
  const int64_t n = type.shape.back(), size = n * n;
  if (size == 0) return convert(x, type.dtype);
  T* data = x.mutable_as<T>();
  const auto mirror = [&](T* a) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < i; ++k) {
        const T below = a[i * n + k];
        a[i * n + k] = linear_algebra::conjugate(a[k * n + i]);
        a[k * n + i] = linear_algebra::conjugate(below);
      }
    }
  };
  for (int64_t at = 0; at < type.num_elements(); at += size) {
    if (!lower) mirror(data + at);
    linear_algebra::cholesky_lower(n, data + at);
    if (!lower) mirror(data + at);
  }
  return convert(x, type.dtype);
}

template <typename T>
Literal triangular_solve(const Literal& a, const Literal& b, const TriangularSolveAttrs& attrs,
                         const TensorType& type) {
  constexpr DType kWide = std::is_same_v<T, double> ? DType::kF64 : DType::kC128;
  const Literal matrices = convert(a, kWide).expanded();
  Literal x = convert(b, kWide).expanded();
  const size_t rank = type.shape.size();
  const int64_t n = a.type().shape.back(), rows = type.shape[rank - 2], columns = type.shape.back();
  if (type.num_elements() == 0) return convert(x, type.dtype);
  const int64_t free = attrs.left_side ? columns : rows;
  std::vector<T> right(static_cast<size_t>(n * free));
  // Right-hand sides as columns of [n, free].
  const int64_t row = attrs.left_side ? columns : 1, column = attrs.left_side ? 1 : columns;
  for (int64_t at = 0; at * n * free < type.num_elements(); ++at) {
    T* data = x.mutable_as<T>() + at * n * free;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t c = 0; c < free; ++c) {
        right[static_cast<size_t>(i * free + c)] = data[i * row + c * column];
      }
    }
    linear_algebra::triangle(matrices.as<T>() + at * n * n, n, attrs.lower, attrs.unit_diagonal,
                             attrs.transpose_a == TransposeKind::kTranspose,
                             attrs.transpose_a == TransposeKind::kAdjoint, attrs.left_side)
        .solve(right.data(), free);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t c = 0; c < free; ++c) {
        data[i * row + c * column] = right[static_cast<size_t>(i * free + c)];
      }
    }
  }
  return convert(x, type.dtype);
}

}  // namespace

Literal eval_linalg(const Invocation& in) {
  const TensorType& type = in.result_type();
  const std::span<Literal> operands = in.operands;
  switch (in.op.code) {
    case OpCode::kFft:
      return fft(operands[0], in.attrs<FftAttrs>(), type);
    case OpCode::kCholesky: {
      const bool lower = in.attrs<CholeskyAttrs>().lower;
      return is_complex(type.dtype) ? cholesky<Complex>(operands[0], lower, type)
                                    : cholesky<double>(operands[0], lower, type);
    }
    case OpCode::kTriangularSolve: {
      const auto& attrs = in.attrs<TriangularSolveAttrs>();
      return is_complex(type.dtype)
                 ? triangular_solve<Complex>(operands[0], operands[1], attrs, type)
                 : triangular_solve<double>(operands[0], operands[1], attrs, type);
    }
    default:
      SPMD_UNREACHABLE("{} is no linear algebra", name_of(in.op.code));
  }
}

}  // namespace spmd::eval
