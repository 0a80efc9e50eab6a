// Functions of complex numbers that the standard library lacks, or has without care for
// cancellation. Single precision is computed in double precision and rounded.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>

namespace spmd::complex_functions {

using Wide = std::complex<double>;

// The library's, under names that are not overloaded.
inline Wide acos(Wide z) { return std::acos(z); }
inline Wide acosh(Wide z) { return std::acosh(z); }
inline Wide asin(Wide z) { return std::asin(z); }
inline Wide asinh(Wide z) { return std::asinh(z); }
inline Wide atan(Wide z) { return std::atan(z); }
inline Wide atanh(Wide z) { return std::atanh(z); }
inline Wide cosh(Wide z) { return std::cosh(z); }
inline Wide cosine(Wide z) { return std::cos(z); }
inline Wide exponential(Wide z) { return std::exp(z); }
inline Wide logarithm(Wide z) { return std::log(z); }
inline Wide sine(Wide z) { return std::sin(z); }
inline Wide sinh(Wide z) { return std::sinh(z); }
inline Wide square_root(Wide z) { return std::sqrt(z); }
inline Wide tangent(Wide z) { return std::tan(z); }
inline Wide tanh(Wide z) { return std::tanh(z); }

inline Wide expm1(Wide z) {
  const double half_sine = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half_sine * half_sine,
          std::exp(z.real()) * std::sin(z.imag())};
}

inline Wide log1p(Wide z) {
  const double x = z.real(), y = z.imag();
  const bool small = std::fabs(x) < 0.5 && std::fabs(y) < 0.5;
  return {small ? std::log1p(x * (2 + x) + y * y) / 2 : std::log(std::hypot(1 + x, y)),
          std::atan2(y, 1 + x)};
}

inline Wide logistic(Wide z) {
  // Of exponentials only the one that cannot overflow.
  if (z.real() >= 0) return 1.0 / (1.0 + std::exp(-z));
  const Wide e = std::exp(z);
  return e / (1.0 + e);
}

inline Wide rsqrt(Wide z) { return 1.0 / std::sqrt(z); }

inline Wide cbrt(Wide z) {
  if (z == 0.0) return z;
  // Not std::polar, which requires a length that is not NaN.
  const double length = std::cbrt(std::abs(z)), angle = std::arg(z) / 3;
  return {length * std::cos(angle), length * std::sin(angle)};
}

inline Wide sign(Wide z) {
  if (std::isnan(z.real()) || std::isnan(z.imag())) return {std::nan(""), std::nan("")};
  return z == 0.0 ? Wide(0) : z / std::abs(z);
}

inline Wide square(Wide z) { return z * z; }

inline Wide atan2(Wide y, Wide x) {
  const Wide i(0, 1);
  return -i * std::log((x + i * y) / std::sqrt(x * x + y * y));
}

inline Wide power(Wide base, Wide exponent) {
  if (exponent == 0.0) return 1;
  if (base == 0.0 && exponent.real() > 0 && exponent.imag() == 0) return 0;
  return std::pow(base, exponent);
}

// In lexicographic order.
inline bool less(Wide a, Wide b) {
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}
inline Wide maximum(Wide a, Wide b) { return less(a, b) ? b : a; }
inline Wide minimum(Wide a, Wide b) { return less(a, b) ? a : b; }

// exp(2 pi i k / n), for 0 <= k < n; quarters of a turn are exact.
inline Wide unit_root(int64_t k, int64_t n) {
  const int64_t quarter = 4 * k / n;  // n is far below 2^60
  const int64_t rest = 4 * k - quarter * n;
  const double angle = std::numbers::pi / 2 * (static_cast<double>(rest) / static_cast<double>(n));
  const double c = std::cos(angle), s = std::sin(angle);
  switch (quarter) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

// The function on another precision.
template <typename T>
std::complex<T> apply(Wide (*function)(Wide), std::complex<T> z) {
  return std::complex<T>(function(Wide(z)));
}
template <typename T>
std::complex<T> apply(Wide (*function)(Wide, Wide), std::complex<T> a, std::complex<T> b) {
  return std::complex<T>(function(Wide(a), Wide(b)));
}

}  // namespace spmd::complex_functions
