// Narrow floating-point formats as bit patterns: conversion to float, exact, and from float,
// rounded to nearest, ties to even. NaNs stay NaN. What is too large for a format becomes infinity
// where the format has one (bf16, f16, f8E5M2), else NaN (f8E4M3FN).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace spmd {

namespace float_formats_internal {

// Bits of a format with the given fields and IEEE bias. Without infinities the largest exponent
// holds numbers too, and only the pattern of all ones is NaN.
template <int kExponentBits, int kMantissaBits, bool kHasInfinity>
struct Format {
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kShift = 23 - kMantissaBits;
  static constexpr int kMaxExponent = (1 << kExponentBits) - 1;
  static constexpr uint32_t kSignBit = 1u << (kExponentBits + kMantissaBits);
  static constexpr uint32_t kInfinity = static_cast<uint32_t>(kMaxExponent) << kMantissaBits;
  static constexpr uint32_t kNan =
      kHasInfinity ? kInfinity | (1u << (kMantissaBits - 1)) : kSignBit - 1;
  static constexpr uint32_t kOverflow = kHasInfinity ? kInfinity : kNan;

  static uint32_t from_float(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = bits >> 31 ? kSignBit : 0;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | kNan;
    const int exponent = static_cast<int>(magnitude >> 23) - 127 + kBias;
    if (exponent >= kMaxExponent + 1) return sign | kOverflow;
    // The significand with its hidden bit, and how far to shift it to the format's unit.
    const uint32_t significand = (magnitude & 0x7fffffu) | (magnitude >> 23 != 0 ? 0x800000u : 0u);
    const int shift = kShift + (exponent <= 0 ? 1 - exponent : 0);
    if (shift > 24) return sign;  // less than half of the smallest number
    uint32_t rounded = significand >> shift;
    const uint32_t rest = significand & ((1u << shift) - 1);
    const uint32_t half = 1u << (shift - 1);
    if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
    // Normal numbers carry the hidden bit: adding, not or-ing, lets a carry reach the exponent.
    if (exponent > 0) rounded += static_cast<uint32_t>(exponent - 1) << kMantissaBits;
    return sign | (rounded >= kOverflow ? kOverflow : rounded);
  }

  static float to_float(uint32_t bits) {
    const uint32_t magnitude = bits & (kSignBit - 1);
    const uint32_t sign = (bits & kSignBit) != 0 ? 0x80000000u : 0u;
    const uint32_t mantissa = magnitude & ((1u << kMantissaBits) - 1);
    const int exponent = static_cast<int>(magnitude >> kMantissaBits);
    if (kHasInfinity ? exponent == kMaxExponent : magnitude == kNan) {
      const bool infinite = kHasInfinity && mantissa == 0;
      return std::bit_cast<float>(sign | (infinite ? 0x7f800000u : 0x7fc00000u));
    }
    if (exponent == 0) {
      const float value = std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissaBits);
      return sign != 0 ? -value : value;
    }
    return std::bit_cast<float>(sign | static_cast<uint32_t>(exponent - kBias + 127) << 23 |
                                mantissa << kShift);
  }
};

using F16 = Format<5, 10, true>;
using F8E4M3FN = Format<4, 3, false>;
using F8E5M2 = Format<5, 2, true>;

}  // namespace float_formats_internal

inline float bf16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
inline uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

inline float f16_to_float(uint16_t bits) { return float_formats_internal::F16::to_float(bits); }
inline uint16_t float_to_f16(float value) {
  return static_cast<uint16_t>(float_formats_internal::F16::from_float(value));
}

inline float f8e4m3fn_to_float(uint8_t bits) {
  return float_formats_internal::F8E4M3FN::to_float(bits);
}
inline uint8_t float_to_f8e4m3fn(float value) {
  return static_cast<uint8_t>(float_formats_internal::F8E4M3FN::from_float(value));
}

inline float f8e5m2_to_float(uint8_t bits) {
  return float_formats_internal::F8E5M2::to_float(bits);
}
inline uint8_t float_to_f8e5m2(float value) {
  return static_cast<uint8_t>(float_formats_internal::F8E5M2::from_float(value));
}

// The float next to `value` towards zero, with an odd last bit when inexact: rounding it once more
// to a narrower format gives what rounding `value` directly would.
inline float double_to_float_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

}  // namespace spmd
