// Computed in long double, which on x86 has eleven bits more than the results.
#include "support/special_functions.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace spmd {
namespace {

using Real = long double;

constexpr Real kPi = 3.14159265358979323846264338327950288L;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_integer(double x) { return x == std::floor(x); }

// The Taylor series around the positive root, where the recurrence would cancel. Coefficients are
// polygamma(k, root) / k!.
double digamma_near_root(double x) {
  constexpr double kRoot = 0x1.762d86356be3fp+0;
  constexpr Real kRest = 9.549995429965697715184199e-17L;
  constexpr Real kCoefficients[] = {0.9676722454476211704274448L,  -0.4427631689835921060928653L,
                                    0.2584997609556510106244014L,  -0.1639427054424065275042513L,
                                    0.1078240506912623657571829L,  -0.07219956125645471092612178L,
                                    0.04880428816414310722509253L, -0.0331611264748473592922584L,
                                    0.02259764823221810465962483L, -0.01542476590494895913880032L};
  const Real h = static_cast<Real>(x - kRoot) - kRest;
  Real sum = 0;
  for (int k = 9; k >= 0; --k) sum = (sum + kCoefficients[k]) * h;
  return static_cast<double>(sum);
}

Real digamma_positive(Real x) {
  // The asymptotic series: B(2k) / 2k.
  constexpr Real kBernoulli[] = {1.0L / 12,        -1.0L / 120,      1.0L / 252, -1.0L / 240,
                                 1.0L / 132,       -691.0L / 32760,  1.0L / 12,  -3617.0L / 8160,
                                 43867.0L / 14364, -174611.0L / 6600};
  Real sum = 0;
  for (; x < 15; x += 1) sum -= 1 / x;
  const Real inverse = 1 / (x * x);
  Real series = 0;
  for (int k = 9; k >= 0; --k) series = (series + kBernoulli[k]) * inverse;
  return sum + std::log(x) - 1 / (2 * x) - series;
}

// pi / tan(pi x), for x that is no integer.
Real pi_cotangent(Real x) { return kPi / std::tan(kPi * (x - std::round(x))); }

// Of q > 0: Euler and Maclaurin's formula, B(2k) / (2k)!.
Real zeta_of_positive(Real x, Real q) {
  constexpr Real kBernoulli[] = {
      1.0L / 12,
      -1.0L / 720,
      1.0L / 30240,
      -1.0L / 1209600,
      2.087675698786809897921009e-8L,
      -5.284190138687493184847682e-10L,
      1.338253653068457883282698e-11L,
      -3.389680296322582866830195e-13L,
      8.586062056277844564135905e-15L,
      -2.174868698558061873041516e-16L,
      5.509002828360229515202653e-18L,
      -1.395446468581252334070769e-19L,
  };
  constexpr Real kNegligible = 0x1p-72L;
  // The series converges where its argument is not much smaller than x.
  const Real enough = std::max(Real(15), x);
  Real sum = 0;
  for (; q < enough; q += 1) {
    const Real term = std::pow(q, -x);
    sum += term;
    if (std::fabs(term) * (1 + q / (x - 1)) <= kNegligible * std::fabs(sum)) return sum;
  }
  const Real power = std::pow(q, -x);
  sum += q * power / (x - 1) + power / 2;
  Real factor = x * power / q;
  for (int k = 0; k < 12; ++k) {
    const Real term = kBernoulli[k] * factor;
    sum += term;
    if (std::fabs(term) <= kNegligible * std::fabs(sum)) break;
    factor *= (x + 2 * k + 1) * (x + 2 * k + 2) / (q * q);
  }
  return sum;
}

// Of q < 0 that is no integer, x is one. With p = q + m in (0, 1), the first m terms are
// (-1)^x (j - p)^-x, j = 1 ... m: what zeta(x, 1 - p) has before zeta(x, 1 - p + m).
Real zeta(Real x, Real q) {
  if (q > 0) return zeta_of_positive(x, q);
  const Real m = std::ceil(-q), p = q + m;
  const Real first = zeta_of_positive(x, 1 - p) - zeta_of_positive(x, 1 - p + m);
  return zeta_of_positive(x, p) + (std::fmod(x, Real(2)) == 0 ? first : -first);
}

}  // namespace

double log_gamma(double x) {
  if (std::isinf(x)) return kInfinity;
  int sign = 0;
  return static_cast<double>(lgammal_r(x, &sign));
}

double digamma(double x) {
  if (std::isnan(x) || (x <= 0 && is_integer(x))) return kNan;
  if (std::isinf(x)) return x;
  if (std::fabs(x - 1.4616321449683622) < 0.02) return digamma_near_root(x);
  if (x > 0) return static_cast<double>(digamma_positive(x));
  return static_cast<double>(digamma_positive(1 - static_cast<Real>(x)) - pi_cotangent(x));
}

double hurwitz_zeta(double x, double q) {
  constexpr double kMostTerms = 1 << 20;
  if (std::isnan(x) || std::isnan(q) || x < 1) return kNan;
  if (x == 1) return kInfinity;
  if (q <= 0) {
    if (is_integer(q)) return kInfinity;
    if (!is_integer(x) || q < -kMostTerms) return kNan;
  }
  if (std::isinf(q) || std::isinf(x)) return q > 1 ? 0 : q == 1 ? 1 : kInfinity;
  return static_cast<double>(zeta(x, q));
}

double polygamma(double n, double x) {
  if (!(n >= 0) || !is_integer(n) || std::isnan(x)) return kNan;
  if (n == 0) return digamma(x);
  const double value = hurwitz_zeta(n + 1, x);
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  const bool direct =
      std::isfinite(value) && value != 0 && n < 1700 && !(x <= 0 && (is_integer(x) || x < -0x1p20));
  // The product in one rounding, where its factors are in range of long double.
  if (direct)
    return static_cast<double>(sign * std::tgamma(static_cast<Real>(n) + 1) *
                               zeta(static_cast<Real>(n) + 1, x));
  if (std::isinf(x) && x > 0) return sign * 0.0;
  if (value == 0 && x > 0) {
    // n! x^-(n+1) and more, by logarithms.
    int unused = 0;
    const Real log = lgammal_r(static_cast<Real>(n) + 1, &unused) -
                     (static_cast<Real>(n) + 1) * std::log(static_cast<Real>(x));
    return static_cast<double>(sign * std::exp(log));
  }
  return sign * value;
}

double bessel_i1e(double x) {
  if (std::isnan(x)) return x;
  const Real a = std::fabs(x);
  if (std::isinf(x)) return std::copysign(0.0, x);
  Real result;
  if (a < 40) {
    // The power series: all of its terms are positive.
    const Real quarter = a * a / 4;
    Real term = a / 2, sum = term;
    for (int k = 1; k < 400 && term > sum * 0x1p-70L; ++k) {
      term *= quarter / (static_cast<Real>(k) * (k + 1));
      sum += term;
    }
    result = sum * std::exp(-a);
  } else {
    // Hankel's asymptotic expansion.
    Real term = 1, sum = 1;
    for (int k = 1; k < 60; ++k) {
      const Real odd = 2 * k - 1;
      term *= -(4 - odd * odd) / (k * 8 * a);
      sum += term;
      if (std::fabs(term) < 0x1p-72L) break;
    }
    result = sum / std::sqrt(2 * kPi * a);
  }
  return std::copysign(static_cast<double>(result), x);
}

double erf_inverse(double x) {
  const double a = std::fabs(x);
  if (std::isnan(x) || a > 1) return kNan;
  if (a == 1) return std::copysign(kInfinity, x);
  const Real half_root_pi = std::sqrt(kPi) / 2;
  if (a < 1e-10) return static_cast<double>(x * half_root_pi);
  // Winitzki's approximation, then Halley's iteration on erf or, near 1, on erfc.
  const Real tail = 1 - static_cast<Real>(a);
  const Real log = std::log(tail * (1 + static_cast<Real>(a)));
  const Real t = 2 / (kPi * 0.147L) + log / 2;
  Real y = std::sqrt(std::sqrt(t * t - log / 0.147L) - t);
  for (int i = 0; i < 4; ++i) {
    const Real error = a < 0.5 ? std::erf(y) - a : tail - std::erfc(y);
    const Real step = error * half_root_pi * std::exp(y * y);
    y -= step / (1 + y * step);
  }
  return std::copysign(static_cast<double>(y), x);
}

}  // namespace spmd
