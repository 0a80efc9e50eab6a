// Normally distributed numbers by a place, the same ones on the host and on a GPU, bit by bit: only
// operations that IEEE 754 rounds, none of which a compiler may join into another.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define SPMD_ON_DEVICE __device__
#else
#include <bit>
#include <cmath>
#define SPMD_ON_DEVICE
#endif

namespace spmd::normal {

#if defined(__CUDACC__)
__device__ inline double add(double a, double b) { return __dadd_rn(a, b); }
__device__ inline double multiply(double a, double b) { return __dmul_rn(a, b); }
__device__ inline double divide(double a, double b) { return __ddiv_rn(a, b); }
__device__ inline double root(double x) { return __dsqrt_rn(x); }
__device__ inline uint64_t bits_of(double x) {
  return static_cast<uint64_t>(__double_as_longlong(x));
}
__device__ inline double from_bits(uint64_t bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}
#else
inline double add(double a, double b) { return a + b; }
inline double multiply(double a, double b) { return a * b; }
inline double divide(double a, double b) { return a / b; }
inline double root(double x) { return std::sqrt(x); }
inline uint64_t bits_of(double x) { return std::bit_cast<uint64_t>(x); }
inline double from_bits(uint64_t bits) { return std::bit_cast<double>(bits); }
#endif

// The finaliser of MurmurHash3: spreads a counter over 64 bits.
SPMD_ON_DEVICE inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

// In (0, 1).
SPMD_ON_DEVICE inline double uniform(uint64_t bits) {
  return multiply(add(static_cast<double>(bits >> 11), 0.5), 0x1p-53);
}

// The natural logarithm of a normal number: m 2^e with m between sqrt(1/2) and sqrt(2), and
// log m = 2 artanh((m - 1) / (m + 1)) by its series, whose 12 terms leave less than 1e-18.
SPMD_ON_DEVICE inline double logarithm(double x) {
  constexpr uint64_t kMantissa = 0x000fffffffffffffULL, kOne = 0x3ff0000000000000ULL;
  const uint64_t bits = bits_of(x);
  double exponent = static_cast<double>(static_cast<int64_t>(bits >> 52) - 1023);
  double m = from_bits((bits & kMantissa) | kOne);
  if (m > 1.4142135623730951) {
    m = multiply(m, 0.5);
    exponent = add(exponent, 1);
  }
  const double s = divide(add(m, -1), add(m, 1)), square = multiply(s, s);
  double sum = 0;
  for (int k = 11; k >= 0; --k) sum = add(multiply(sum, square), 1.0 / (2 * k + 1));
  return add(multiply(exponent, 0.69314718055994531), multiply(multiply(s, 2), sum));
}

// cos(2 pi x) for x in [0, 1]: by symmetry that of an angle in [0, pi / 2], whose series needs 12
// terms for 1e-18.
SPMD_ON_DEVICE inline double cosine_of_turns(double x) {
  double turns = add(x, -0.5);
  if (turns < 0) turns = -turns;
  const bool positive = turns > 0.25;
  if (positive) turns = add(0.5, -turns);
  const double angle = multiply(turns, 6.283185307179586), square = multiply(angle, angle);
  double sum = 0;
  // 1 - y/(1 2) (1 - y/(3 4) (1 - ...))
  for (int k = 12; k >= 1; --k)
    sum = multiply(multiply(square, 1.0 / ((2 * k - 1) * (2 * k))), add(-1, -sum));
  sum = add(1, sum);
  return positive ? sum : -sum;
}

// Mean 0 and deviation 1, by Box and Muller 1958.
SPMD_ON_DEVICE inline double value(uint64_t seed, uint64_t index) {
  const double a = uniform(mix(seed + 2 * index)), b = uniform(mix(seed + 2 * index + 1));
  return multiply(root(multiply(logarithm(a), -2)), cosine_of_turns(b));
}

}  // namespace spmd::normal

#undef SPMD_ON_DEVICE
