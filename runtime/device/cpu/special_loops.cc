#include "runtime/device/cpu/special_loops.h"

#include <cmath>
#include <complex>

#include "support/complex_functions.h"
#include "support/special_functions.h"

namespace spmd::cpu {
namespace {

namespace cf = complex_functions;
using Wide = cf::Wide;

// Floats are computed in double, complex numbers in complex double.
template <typename T, double (*kFunction)(double)>
void real_loop(void* out, const void* const* args, int64_t n, int64_t) {
  auto* o = static_cast<T*>(out);
  const auto* a = static_cast<const T*>(args[0]);
  for (int64_t i = 0; i < n; ++i) o[i] = static_cast<T>(kFunction(static_cast<double>(a[i])));
}

template <typename T, double (*kFunction)(double, double)>
void real_loop(void* out, const void* const* args, int64_t n, int64_t) {
  auto* o = static_cast<T*>(out);
  const auto* a = static_cast<const T*>(args[0]);
  const auto* b = static_cast<const T*>(args[1]);
  for (int64_t i = 0; i < n; ++i) o[i] = static_cast<T>(kFunction(a[i], b[i]));
}

template <typename T, Wide (*kFunction)(Wide)>
void complex_loop(void* out, const void* const* args, int64_t n, int64_t) {
  auto* o = static_cast<std::complex<T>*>(out);
  const auto* a = static_cast<const std::complex<T>*>(args[0]);
  for (int64_t i = 0; i < n; ++i) o[i] = cf::apply<T>(kFunction, a[i]);
}

template <typename T, Wide (*kFunction)(Wide, Wide)>
void complex_loop(void* out, const void* const* args, int64_t n, int64_t) {
  auto* o = static_cast<std::complex<T>*>(out);
  const auto* a = static_cast<const std::complex<T>*>(args[0]);
  const auto* b = static_cast<const std::complex<T>*>(args[1]);
  for (int64_t i = 0; i < n; ++i) o[i] = cf::apply<T>(kFunction, a[i], b[i]);
}

// Neither overflows nor loses infinities where the quotient's parts do not.
template <typename T>
void divide(void* out, const void* const* args, int64_t n, int64_t) {
  auto* o = static_cast<std::complex<T>*>(out);
  const auto* a = static_cast<const std::complex<T>*>(args[0]);
  const auto* b = static_cast<const std::complex<T>*>(args[1]);
  for (int64_t i = 0; i < n; ++i) o[i] = a[i] / b[i];
}

template <typename T>
void clamp(void* out, const void* const* args, int64_t n, int64_t) {
  auto* o = static_cast<std::complex<T>*>(out);
  const auto* low = static_cast<const std::complex<T>*>(args[0]);
  const auto* a = static_cast<const std::complex<T>*>(args[1]);
  const auto* high = static_cast<const std::complex<T>*>(args[2]);
  for (int64_t i = 0; i < n; ++i) {
    o[i] = cf::apply<T>(cf::minimum, cf::apply<T>(cf::maximum, a[i], low[i]), high[i]);
  }
}

template <typename T>
void join(void* out, const void* const* args, int64_t n, int64_t) {
  auto* o = static_cast<std::complex<T>*>(out);
  const auto* re = static_cast<const T*>(args[0]);
  const auto* im = static_cast<const T*>(args[1]);
  for (int64_t i = n; i-- > 0;) o[i] = {re[i], im[i]};
}

template <typename T, T (*kPart)(const std::complex<T>&)>
void part(void* out, const void* const* args, int64_t n, int64_t) {
  auto* o = static_cast<T*>(out);
  const auto* a = static_cast<const std::complex<T>*>(args[0]);
  for (int64_t i = 0; i < n; ++i) o[i] = kPart(a[i]);
}

template <typename T>
void zeros(void* out, const void* const*, int64_t n, int64_t) {
  auto* o = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = 0;
}

template <typename T>
void same(void* out, const void* const* args, int64_t n, int64_t) {
  auto* o = static_cast<T*>(out);
  const auto* a = static_cast<const T*>(args[0]);
  for (int64_t i = 0; i < n; ++i) o[i] = a[i];
}

template <typename T>
void finite(void* out, const void* const* args, int64_t n, int64_t) {
  auto* o = static_cast<uint8_t*>(out);
  const auto* a = static_cast<const std::complex<T>*>(args[0]);
  for (int64_t i = 0; i < n; ++i) o[i] = std::isfinite(a[i].real()) && std::isfinite(a[i].imag());
}

template <typename T>
T real_of(const std::complex<T>& z) {
  return z.real();
}
template <typename T>
T imag_of(const std::complex<T>& z) {
  return z.imag();
}
template <typename T>
T abs_of(const std::complex<T>& z) {
  return std::abs(z);
}

template <typename T>
TileLoop find_real(plan::ScalarOp op) {
  switch (op) {
    case plan::ACOS:
      return real_loop<T, std::acos>;
    case plan::ACOSH:
      return real_loop<T, std::acosh>;
    case plan::ASIN:
      return real_loop<T, std::asin>;
    case plan::ASINH:
      return real_loop<T, std::asinh>;
    case plan::ATAN:
      return real_loop<T, std::atan>;
    case plan::ATANH:
      return real_loop<T, std::atanh>;
    case plan::BESSEL_I1E:
      return real_loop<T, bessel_i1e>;
    case plan::COSH:
      return real_loop<T, std::cosh>;
    case plan::DIGAMMA:
      return real_loop<T, digamma>;
    case plan::ERFC:
      return real_loop<T, std::erfc>;
    case plan::ERF_INV:
      return real_loop<T, erf_inverse>;
    case plan::IMAG:
      return zeros<T>;
    case plan::LGAMMA:
      return real_loop<T, log_gamma>;
    case plan::POLYGAMMA:
      return real_loop<T, polygamma>;
    case plan::REAL:
      return same<T>;
    case plan::SINH:
      return real_loop<T, std::sinh>;
    case plan::ZETA:
      return real_loop<T, hurwitz_zeta>;
    default:
      return nullptr;
  }
}

// From complex to complex.
template <typename T>
TileLoop find_complex(plan::ScalarOp op) {
  switch (op) {
    case plan::ACOS:
      return complex_loop<T, cf::acos>;
    case plan::ACOSH:
      return complex_loop<T, cf::acosh>;
    case plan::ASIN:
      return complex_loop<T, cf::asin>;
    case plan::ASINH:
      return complex_loop<T, cf::asinh>;
    case plan::ATAN:
      return complex_loop<T, cf::atan>;
    case plan::ATAN2:
      return complex_loop<T, cf::atan2>;
    case plan::ATANH:
      return complex_loop<T, cf::atanh>;
    case plan::CBRT:
      return complex_loop<T, cf::cbrt>;
    case plan::CLAMP:
      return clamp<T>;
    case plan::COSH:
      return complex_loop<T, cf::cosh>;
    case plan::COSINE:
      return complex_loop<T, cf::cosine>;
    case plan::DIVIDE:
      return divide<T>;
    case plan::EXPONENTIAL:
      return complex_loop<T, cf::exponential>;
    case plan::EXPONENTIAL_MINUS_ONE:
      return complex_loop<T, cf::expm1>;
    case plan::LOG:
      return complex_loop<T, cf::logarithm>;
    case plan::LOG_PLUS_ONE:
      return complex_loop<T, cf::log1p>;
    case plan::LOGISTIC:
      return complex_loop<T, cf::logistic>;
    case plan::MAXIMUM:
      return complex_loop<T, cf::maximum>;
    case plan::MINIMUM:
      return complex_loop<T, cf::minimum>;
    case plan::POWER:
      return complex_loop<T, cf::power>;
    case plan::RSQRT:
      return complex_loop<T, cf::rsqrt>;
    case plan::SIGN:
      return complex_loop<T, cf::sign>;
    case plan::SINE:
      return complex_loop<T, cf::sine>;
    case plan::SINH:
      return complex_loop<T, cf::sinh>;
    case plan::SQRT:
      return complex_loop<T, cf::square_root>;
    case plan::TAN:
      return complex_loop<T, cf::tangent>;
    case plan::TANH:
      return complex_loop<T, cf::tanh>;
    default:
      return nullptr;
  }
}

// From complex to real.
template <typename T>
TileLoop find_part(plan::ScalarOp op) {
  switch (op) {
    case plan::ABS:
      return part<T, abs_of<T>>;
    case plan::IMAG:
      return part<T, imag_of<T>>;
    case plan::REAL:
      return part<T, real_of<T>>;
    default:
      return nullptr;
  }
}

}  // namespace

TileLoop find_special_loop(plan::ScalarOp op, Lane from, Lane to) {
  const bool single = from == Lane::kF32 || from == Lane::kC64;
  if (from == Lane::kF32 && to == Lane::kF32) return find_real<float>(op);
  if (from == Lane::kF64 && to == Lane::kF64) return find_real<double>(op);
  if (from == Lane::kC64 && to == Lane::kC64) return find_complex<float>(op);
  if (from == Lane::kC128 && to == Lane::kC128) return find_complex<double>(op);
  if (from == Lane::kC64 && to == Lane::kF32) return find_part<float>(op);
  if (from == Lane::kC128 && to == Lane::kF64) return find_part<double>(op);
  if (op == plan::COMPLEX && from == Lane::kF32 && to == Lane::kC64) return join<float>;
  if (op == plan::COMPLEX && from == Lane::kF64 && to == Lane::kC128) return join<double>;
  if (op == plan::IS_FINITE && (from == Lane::kC64 || from == Lane::kC128) && to == Lane::kBool) {
    return single ? finite<float> : finite<double>;
  }
  return nullptr;
}

}  // namespace spmd::cpu
