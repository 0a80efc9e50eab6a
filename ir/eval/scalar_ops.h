// What the binary arithmetic ops do to two numbers. T is a type of with_type(); of booleans, stored
// as uint8_t, the families treat `add`, `multiply` and the like as logic before they come here.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ir/eval/elements.h"
#include "ir/opcode.h"
#include "support/complex_functions.h"
#include "support/special_functions.h"

namespace spmd::eval {

// Integers wrap: computed in the unsigned type (of at least int's width, where products of narrow
// types would overflow int).
template <typename T>
using WrappingInt =
    std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;

struct AddOp {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<WrappingInt<T>>(a) + static_cast<WrappingInt<T>>(b));
    } else {
      return a + b;
    }
  }
};

struct SubtractOp {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<WrappingInt<T>>(a) - static_cast<WrappingInt<T>>(b));
    } else {
      return a - b;
    }
  }
};

struct MultiplyOp {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<WrappingInt<T>>(a) * static_cast<WrappingInt<T>>(b));
    } else if constexpr (is_complex_v<T>) {
      // By the definition, not by C's rules for infinities.
      return T(a.real() * b.real() - a.imag() * b.imag(),
               a.real() * b.imag() + a.imag() * b.real());
    } else {
      return a * b;
    }
  }
};

// Of a NaN and a number, the NaN; of equal zeros, +0 is the greater. Complex numbers compare
// lexicographically.
struct MaximumOp {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a > b || std::isnan(a)) return a;
      if (a == b) return std::signbit(a) ? b : a;
      return b;
    } else if constexpr (is_complex_v<T>) {
      return complex_functions::less(a, b) ? b : a;
    } else {
      return a > b ? a : b;
    }
  }
};

struct MinimumOp {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a < b || std::isnan(a)) return a;
      if (a == b) return std::signbit(a) ? a : b;
      return b;
    } else if constexpr (is_complex_v<T>) {
      return complex_functions::less(a, b) ? a : b;
    } else {
      return a < b ? a : b;
    }
  }
};

// Integers: truncated; x / 0 has all bits set, and the lowest number divided by -1 is itself.
struct DivideOp {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return static_cast<T>(-1);
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return SubtractOp::apply(T(0), a);
      }
      return static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};

// With the sign of the dividend; integers: x rem 0 is x.
struct RemainderOp {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return a;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;
      }
      return static_cast<T>(a % b);
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      SPMD_UNREACHABLE("remainder of complex numbers");
    }
  }
};

// Integers: wraps; a negative exponent gives 0 but for bases 1 and -1.
struct PowerOp {
  template <typename T>
  static T apply(T base, T exponent) {
    if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_signed_v<T>) {
        if (exponent < 0) {
          if (base == 1) return 1;
          if (base == -1) return exponent % 2 == 0 ? 1 : -1;
          return 0;
        }
      }
      T result = 1;
      for (; exponent != 0; exponent = static_cast<T>(exponent / 2)) {
        if (exponent % 2 != 0) result = MultiplyOp::apply(result, base);
        base = MultiplyOp::apply(base, base);
      }
      return result;
    } else {
      if constexpr (is_complex_v<T>) {
        return complex_functions::apply<typename T::value_type>(complex_functions::power, base,
                                                                exponent);
      } else {
        return std::pow(base, exponent);
      }
    }
  }
};

struct Atan2Op {
  template <typename T>
  static T apply(T y, T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::atan2(y, x);
    } else if constexpr (is_complex_v<T>) {
      return complex_functions::apply<typename T::value_type>(complex_functions::atan2, y, x);
    } else {
      SPMD_UNREACHABLE("atan2 of integers");
    }
  }
};

struct PolygammaOp {
  template <typename T>
  static T apply(T n, T x) {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(polygamma(n, x));
    else
      SPMD_UNREACHABLE("polygamma of numbers that are no floats");
  }
};

struct ZetaOp {
  template <typename T>
  static T apply(T x, T q) {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(hurwitz_zeta(x, q));
    else
      SPMD_UNREACHABLE("zeta of numbers that are no floats");
  }
};

struct AndOp {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(a & b);
    else
      SPMD_UNREACHABLE("and of floats");
  }
};

struct OrOp {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(a | b);
    else
      SPMD_UNREACHABLE("or of floats");
  }
};

struct XorOp {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(a ^ b);
    else
      SPMD_UNREACHABLE("xor of floats");
  }
};

// What `code` means for booleans: sums are "or", products "and".
OpCode boolean_meaning(OpCode code);

}  // namespace spmd::eval
