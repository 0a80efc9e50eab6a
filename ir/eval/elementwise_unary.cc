#include <bit>
#include <cmath>

#include "ir/eval/elements.h"
#include "ir/eval/elementwise_internal.h"
#include "ir/eval/scalar_ops.h"
#include "support/complex_functions.h"
#include "support/special_functions.h"

namespace spmd::eval {
namespace {

template <typename T, typename R = T, typename F>
Literal map(const Literal& x, DType result, const Dims& shape, F&& f) {
  Output output({result, shape}, x.is_splat());
  const Elements<T> elements(x);
  R* to = output.as<R>();
  for (int64_t i = 0, count = output.size(); i < count; ++i) to[i] = f(elements[i]);
  return output.take();
}

template <typename T>
Literal apply_to_float(OpCode code, const Literal& x, const Dims& shape) {
  const auto mapped = [&](auto&& f) { return map<T>(x, x.type().dtype, shape, f); };
  // Special functions are computed in double.
  const auto special = [&](double (*f)(double)) {
    return mapped([f](T v) { return static_cast<T>(f(static_cast<double>(v))); });
  };
  switch (code) {
    case OpCode::kAbs:
      return mapped([](T v) { return std::fabs(v); });
    case OpCode::kAcos:
      return special(std::acos);
    case OpCode::kAcosh:
      return special(std::acosh);
    case OpCode::kAsin:
      return special(std::asin);
    case OpCode::kAsinh:
      return special(std::asinh);
    case OpCode::kAtan:
      return special(std::atan);
    case OpCode::kAtanh:
      return special(std::atanh);
    case OpCode::kBesselI1e:
      return special(bessel_i1e);
    case OpCode::kCbrt:
      return mapped([](T v) { return std::cbrt(v); });
    case OpCode::kCeil:
      return mapped([](T v) { return std::ceil(v); });
    case OpCode::kCosine:
      return mapped([](T v) { return std::cos(v); });
    case OpCode::kCosh:
      return special(std::cosh);
    case OpCode::kDigamma:
      return special(digamma);
    case OpCode::kErf:
      return mapped([](T v) { return std::erf(v); });
    case OpCode::kErfc:
      return special(std::erfc);
    case OpCode::kErfInv:
      return special(erf_inverse);
    case OpCode::kExponential:
      return mapped([](T v) { return std::exp(v); });
    case OpCode::kExponentialMinusOne:
      return mapped([](T v) { return std::expm1(v); });
    case OpCode::kFloor:
      return mapped([](T v) { return std::floor(v); });
    case OpCode::kImag:
      return mapped([](T) { return T(0); });
    case OpCode::kIsFinite:
      return map<T, uint8_t>(x, DType::kBool, shape, [](T v) { return std::isfinite(v); });
    case OpCode::kLgamma:
      return special(log_gamma);
    case OpCode::kLog:
      return mapped([](T v) { return std::log(v); });
    case OpCode::kLogPlusOne:
      return mapped([](T v) { return std::log1p(v); });
    case OpCode::kLogistic:
      return mapped([](T v) { return T(1) / (T(1) + std::exp(-v)); });
    case OpCode::kNegate:
      return mapped([](T v) { return -v; });
    case OpCode::kReal:
      return x;
    case OpCode::kRoundNearestAfz:
      return mapped([](T v) { return std::round(v); });
    case OpCode::kRoundNearestEven:
      return mapped([](T v) { return std::nearbyint(v); });
    case OpCode::kRsqrt:
      return mapped([](T v) { return T(1) / std::sqrt(v); });
    case OpCode::kSign:  // keeps zeros and NaNs
      return mapped([](T v) { return v > 0 ? T(1) : v < 0 ? T(-1) : v; });
    case OpCode::kSine:
      return mapped([](T v) { return std::sin(v); });
    case OpCode::kSinh:
      return special(std::sinh);
    case OpCode::kSqrt:
      return mapped([](T v) { return std::sqrt(v); });
    case OpCode::kSquare:
      return mapped([](T v) { return v * v; });
    case OpCode::kTan:
      return mapped([](T v) { return std::tan(v); });
    case OpCode::kTanh:
      return mapped([](T v) { return std::tanh(v); });
    default:
      throw UserError(std::string(name_of(code)), "has no meaning for floats",
                      "convert the operand first");
  }
}

template <typename T>
Literal apply_to_integer(OpCode code, const Literal& x, const Dims& shape) {
  const DType dtype = x.type().dtype;
  const int width = bit_width(dtype);
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  const auto mapped = [&](auto&& f) {
    return map<T>(x, dtype, shape, [&](T v) { return wrap_to(dtype, static_cast<T>(f(v))); });
  };
  const auto bits = [mask](T v) { return static_cast<uint64_t>(v) & mask; };
  switch (code) {
    case OpCode::kAbs:
      return mapped([](T v) { return v < 0 ? SubtractOp::apply(T(0), v) : v; });
    case OpCode::kCountLeadingZeros:
      return mapped([&](T v) { return std::countl_zero(bits(v)) - (64 - width); });
    case OpCode::kNegate:
      return mapped([](T v) { return SubtractOp::apply(T(0), v); });
    case OpCode::kNot:
      if (dtype == DType::kBool) return mapped([](T v) { return v == 0; });
      return mapped([](T v) { return ~v; });
    case OpCode::kPopulationCount:
      return mapped([&](T v) { return std::popcount(bits(v)); });
    case OpCode::kSign:
      return mapped([](T v) { return v > 0 ? 1 : v < 0 ? -1 : 0; });
    case OpCode::kSquare:
      return mapped([](T v) { return MultiplyOp::apply(v, v); });
    default:
      throw UserError(std::string(name_of(code)), "has no meaning for integers",
                      "convert the operand first");
  }
}

template <typename T>
Literal apply_to_complex(OpCode code, const Literal& x, const Dims& shape) {
  using Real = typename T::value_type;
  namespace cf = complex_functions;
  const DType real = sizeof(Real) == 4 ? DType::kF32 : DType::kF64;
  const auto mapped = [&](cf::Wide (*f)(cf::Wide)) {
    return map<T>(x, x.type().dtype, shape, [f](T v) { return cf::apply<Real>(f, v); });
  };
  const auto to_real = [&](auto&& f) { return map<T, Real>(x, real, shape, f); };
  switch (code) {
    case OpCode::kAbs:
      return to_real([](T v) { return std::abs(v); });
    case OpCode::kAcos:
      return mapped(cf::acos);
    case OpCode::kAcosh:
      return mapped(cf::acosh);
    case OpCode::kAsin:
      return mapped(cf::asin);
    case OpCode::kAsinh:
      return mapped(cf::asinh);
    case OpCode::kAtan:
      return mapped(cf::atan);
    case OpCode::kAtanh:
      return mapped(cf::atanh);
    case OpCode::kCbrt:
      return mapped(cf::cbrt);
    case OpCode::kCosh:
      return mapped(cf::cosh);
    case OpCode::kCosine:
      return mapped(cf::cosine);
    case OpCode::kExponential:
      return mapped(cf::exponential);
    case OpCode::kExponentialMinusOne:
      return mapped(cf::expm1);
    case OpCode::kImag:
      return to_real([](T v) { return v.imag(); });
    case OpCode::kIsFinite:
      return map<T, uint8_t>(x, DType::kBool, shape, [](T v) {
        return std::isfinite(v.real()) && std::isfinite(v.imag());
      });
    case OpCode::kLog:
      return mapped(cf::logarithm);
    case OpCode::kLogPlusOne:
      return mapped(cf::log1p);
    case OpCode::kLogistic:
      return mapped(cf::logistic);
    case OpCode::kNegate:
      return map<T>(x, x.type().dtype, shape, [](T v) { return -v; });
    case OpCode::kReal:
      return to_real([](T v) { return v.real(); });
    case OpCode::kRsqrt:
      return mapped(cf::rsqrt);
    case OpCode::kSign:
      return mapped(cf::sign);
    case OpCode::kSine:
      return mapped(cf::sine);
    case OpCode::kSinh:
      return mapped(cf::sinh);
    case OpCode::kSqrt:
      return mapped(cf::square_root);
    case OpCode::kSquare:
      return mapped(cf::square);
    case OpCode::kTan:
      return mapped(cf::tangent);
    case OpCode::kTanh:
      return mapped(cf::tanh);
    default:
      throw UserError(std::string(name_of(code)), "has no meaning for complex numbers",
                      "take the real or imaginary part first");
  }
}

// Rounds the significand of a float held in `Bits` to `kept` bits, to nearest even. The carry may
// reach the exponent, and from there infinity.
template <typename Bits>
Bits round_significand(Bits magnitude, int dropped) {
  if (dropped <= 0) return magnitude;
  const Bits half_less_one = (Bits{1} << (dropped - 1)) - 1;
  magnitude += half_less_one + (magnitude >> dropped & 1);
  return magnitude >> dropped << dropped;
}

template <typename T, typename Bits, int kMantissaBits>
T reduced(T value, int exponent_bits, int mantissa_bits) {
  constexpr int kWidth = sizeof(Bits) * 8;
  constexpr Bits kSign = Bits{1} << (kWidth - 1);
  constexpr int kBias = (1 << (kWidth - 2 - kMantissaBits)) - 1;
  const Bits infinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  const Bits bits = std::bit_cast<Bits>(value);
  const Bits sign = bits & kSign;
  // Without mantissa bits there is no NaN to keep.
  if (std::isnan(value)) return mantissa_bits > 0 ? value : std::bit_cast<T>(sign | infinity);
  Bits magnitude = round_significand<Bits>(bits & ~kSign, kMantissaBits - mantissa_bits);
  if (exponent_bits < kWidth - 1 - kMantissaBits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = static_cast<int>(magnitude >> kMantissaBits) - kBias;
    if (exponent > bias) magnitude = infinity;
    if (exponent <= -bias) magnitude = 0;  // below the smallest normal number
  }
  return std::bit_cast<T>(sign | magnitude);
}

}  // namespace

Literal apply_unary(OpCode code, const Literal& x, const Dims& shape) {
  return with_type(x.type().dtype, [&]<typename T>(std::type_identity<T>) {
    if constexpr (is_complex_v<T>)
      return apply_to_complex<T>(code, x, shape);
    else if constexpr (std::is_integral_v<T>)
      return apply_to_integer<T>(code, x, shape);
    else
      return apply_to_float<T>(code, x, shape);
  });
}

Literal apply_reduce_precision(const ReducePrecisionAttrs& attrs, const Literal& x) {
  const int exponent = attrs.exponent_bits, mantissa = attrs.mantissa_bits;
  const TensorType& type = x.type();
  if (type.dtype == DType::kF64) {
    return map<double>(x, type.dtype, type.shape, [=](double v) {
      return reduced<double, uint64_t, 52>(v, exponent, mantissa);
    });
  }
  return map<float>(x, type.dtype, type.shape,
                    [=](float v) { return reduced<float, uint32_t, 23>(v, exponent, mantissa); });
}

}  // namespace spmd::eval
