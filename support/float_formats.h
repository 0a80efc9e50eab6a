// Narrow floating-point formats as bit patterns: conversion to float, exact, and from float,
// rounded to nearest, ties to even. What a format does with NaNs, infinities and overflow is in its
// name: none (bf16, f16, f8E3M4, f8E4M3, f8E5M2): as IEEE 754; FN: no infinity, overflow is NaN;
// FNUZ: nor a negative zero, whose pattern is the only NaN; the FN types of fewer than 8 bits: nor
// a NaN, overflow saturates and NaN becomes -0. f8E8M0FNU holds powers of two, ties go to the
// larger; what is not positive becomes NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

// X(name in types, name of functions) for the formats that are stored in one byte.
#define SPMD_BYTE_FLOATS(X)       \
  X(F4E2M1FN, f4e2m1fn)           \
  X(F6E2M3FN, f6e2m3fn)           \
  X(F6E3M2FN, f6e3m2fn)           \
  X(F8E3M4, f8e3m4)               \
  X(F8E4M3, f8e4m3)               \
  X(F8E4M3B11FNUZ, f8e4m3b11fnuz) \
  X(F8E4M3FN, f8e4m3fn)           \
  X(F8E4M3FNUZ, f8e4m3fnuz)       \
  X(F8E5M2, f8e5m2)               \
  X(F8E5M2FNUZ, f8e5m2fnuz)       \
  X(F8E8M0FNU, f8e8m0fnu)

namespace spmd {

namespace float_formats_internal {

enum class Specials : uint8_t { kIeee, kNanOnly, kNanIsMinusZero, kNone };

// Bits of a format with the given fields and exponent bias. Without infinities the largest exponent
// holds numbers too.
template <int kExponentBits, int kMantissaBits, Specials kSpecials,
          int kBias = (1 << (kExponentBits - 1)) - 1>
struct Format {
  static constexpr int kShift = 23 - kMantissaBits;
  static constexpr int kMaxExponent = (1 << kExponentBits) - 1;
  static constexpr bool kHasInfinity = kSpecials == Specials::kIeee;
  static constexpr bool kSaturates = kSpecials == Specials::kNone;
  static constexpr bool kSignedZero = kSpecials != Specials::kNanIsMinusZero;
  static constexpr uint32_t kSignBit = 1u << (kExponentBits + kMantissaBits);
  static constexpr uint32_t kInfinity = static_cast<uint32_t>(kMaxExponent) << kMantissaBits;
  // Of NaN, beside the sign.
  static constexpr uint32_t kNan = kHasInfinity ? kInfinity | (1u << (kMantissaBits - 1))
                                   : kSpecials == Specials::kNanOnly ? kSignBit - 1
                                                                     : 0;
  // The first magnitude that is no number.
  static constexpr uint32_t kLimit = kHasInfinity                      ? kInfinity
                                     : kSpecials == Specials::kNanOnly ? kSignBit - 1
                                                                       : kSignBit;

  static uint32_t nan(uint32_t sign) {
    return kSpecials == Specials::kIeee || kSpecials == Specials::kNanOnly ? sign | kNan : kSignBit;
  }
  static uint32_t overflow(uint32_t sign) {
    return kHasInfinity ? sign | kInfinity : kSaturates ? sign | (kLimit - 1) : nan(sign);
  }

  static uint32_t from_float(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = bits >> 31 ? kSignBit : 0;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return nan(sign);
    const int exponent = static_cast<int>(magnitude >> 23) - 127 + kBias;
    if (exponent >= kMaxExponent + 1) return overflow(sign);
    const uint32_t zero = kSignedZero ? sign : 0;
    // The significand with its hidden bit, and how far to shift it to the format's unit.
    const uint32_t significand = (magnitude & 0x7fffffu) | (magnitude >> 23 != 0 ? 0x800000u : 0u);
    const int shift = kShift + (exponent <= 0 ? 1 - exponent : 0);
    if (shift > 24) return zero;  // less than half of the smallest number
    uint32_t rounded = significand >> shift;
    const uint32_t rest = significand & ((1u << shift) - 1);
    const uint32_t half = 1u << (shift - 1);
    if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
    // Normal numbers carry the hidden bit: adding, not or-ing, lets a carry reach the exponent.
    if (exponent > 0) rounded += static_cast<uint32_t>(exponent - 1) << kMantissaBits;
    if (rounded == 0) return zero;
    return rounded >= kLimit ? overflow(sign) : sign | rounded;
  }

  static float to_float(uint32_t bits) {
    const uint32_t magnitude = bits & (kSignBit - 1);
    const uint32_t sign = (bits & kSignBit) != 0 ? 0x80000000u : 0u;
    const uint32_t mantissa = magnitude & ((1u << kMantissaBits) - 1);
    const int exponent = static_cast<int>(magnitude >> kMantissaBits);
    if (!kSignedZero && (bits & (2 * kSignBit - 1)) == kSignBit) {
      return std::bit_cast<float>(0x7fc00000u);
    }
    if (magnitude >= kLimit) {
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

using F16 = Format<5, 10, Specials::kIeee>;
using F4E2M1FN = Format<2, 1, Specials::kNone>;
using F6E2M3FN = Format<2, 3, Specials::kNone>;
using F6E3M2FN = Format<3, 2, Specials::kNone>;
using F8E3M4 = Format<3, 4, Specials::kIeee>;
using F8E4M3 = Format<4, 3, Specials::kIeee>;
using F8E4M3B11FNUZ = Format<4, 3, Specials::kNanIsMinusZero, 11>;
using F8E4M3FN = Format<4, 3, Specials::kNanOnly>;
using F8E4M3FNUZ = Format<4, 3, Specials::kNanIsMinusZero, 8>;
using F8E5M2 = Format<5, 2, Specials::kIeee>;
using F8E5M2FNUZ = Format<5, 2, Specials::kNanIsMinusZero, 16>;

// The exponent of float alone; 255 is NaN.
struct F8E8M0FNU {
  static uint32_t from_float(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if (bits == 0 || bits > 0x7f800000u) return 255;  // zero, negative or NaN
    // The powers of two below are subnormal: 2^-127 is pattern 0, and all that is smaller.
    if (bits < 0x800000u) return bits > 0x600000u ? 1 : 0;
    return (bits + 0x400000u) >> 23;
  }
  static float to_float(uint32_t bits) {
    if (bits == 255) return std::bit_cast<float>(0x7fc00000u);
    return std::bit_cast<float>(bits == 0 ? 0x400000u : bits << 23);
  }
};

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

#define SPMD_BYTE_FLOAT_FUNCTIONS(Type, name)                                     \
  inline float name##_to_float(uint8_t bits) {                                    \
    return float_formats_internal::Type::to_float(bits);                          \
  }                                                                               \
  inline uint8_t float_to_##name(float value) {                                   \
    return static_cast<uint8_t>(float_formats_internal::Type::from_float(value)); \
  }
SPMD_BYTE_FLOATS(SPMD_BYTE_FLOAT_FUNCTIONS)
#undef SPMD_BYTE_FLOAT_FUNCTIONS

#include "support/scalar/float_odd.inc"

}  // namespace spmd
