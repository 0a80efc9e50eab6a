// Dense matrices, row by row, of T = double or std::complex<double>: small and plain.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

namespace spmd::linear_algebra {

inline double conjugate(double x) { return x; }
inline std::complex<double> conjugate(std::complex<double> x) { return std::conj(x); }
inline double real_part(double x) { return x; }
inline double real_part(std::complex<double> x) { return x.real(); }

// The lower triangle of `a`, of which only that triangle is read, becomes its Cholesky factor L
// (a = L L^H), the upper one zero. Of a matrix that is not positive definite every element of the
// triangle becomes NaN.
template <typename T>
void cholesky_lower(int64_t n, T* a) {
  for (int64_t j = 0; j < n; ++j) {
    double diagonal = real_part(a[j * n + j]);
    for (int64_t k = 0; k < j; ++k) diagonal -= std::norm(a[j * n + k]);
    if (!(diagonal > 0)) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < n; ++k) {
          a[i * n + k] = k <= i ? T(std::numeric_limits<double>::quiet_NaN()) : T(0);
        }
      }
      return;
    }
    diagonal = std::sqrt(diagonal);
    a[j * n + j] = diagonal;
    for (int64_t i = j + 1; i < n; ++i) {
      T sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) sum -= a[i * n + k] * conjugate(a[j * n + k]);
      a[i * n + j] = sum / diagonal;
    }
    for (int64_t i = 0; i < j; ++i) a[i * n + j] = T(0);
  }
}

// Overwrites x[n, columns] with the solution of m y = x, where m is the triangular matrix
// a(i, k) = conj?(data[i * row + k * column]), lower or upper.
template <typename T>
struct Triangle {
  const T* data;
  int64_t n, row, column;
  bool lower, unit_diagonal, conjugated;

  T at(int64_t i, int64_t k) const {
    const T value = data[i * row + k * column];
    return conjugated ? conjugate(value) : value;
  }
  void solve(T* x, int64_t columns) const {
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = lower ? step : n - 1 - step;
      T* to = x + i * columns;
      for (int64_t k = lower ? 0 : i + 1, end = lower ? i : n; k < end; ++k) {
        const T factor = at(i, k);
        for (int64_t c = 0; c < columns; ++c) to[c] -= factor * x[k * columns + c];
      }
      if (unit_diagonal) continue;
      const T diagonal = at(i, i);
      for (int64_t c = 0; c < columns; ++c) to[c] /= diagonal;
    }
  }
};

// The triangle op(a) of a square matrix that is stored row by row, for systems op(a) x = b, or, as
// its transpose, for x op(a) = b with b and x transposed.
template <typename T>
Triangle<T> triangle(const T* a, int64_t n, bool lower, bool unit_diagonal, bool transposed,
                     bool adjoint, bool left_side) {
  // x m = b is m^T x^T = b^T.
  const bool flipped = (transposed || adjoint) != !left_side;
  return {a, n, flipped ? 1 : n, flipped ? n : 1, lower != flipped, unit_diagonal, adjoint};
}

}  // namespace spmd::linear_algebra
