#include "codegen/kernels/prelude.h"

namespace spmd::codegen::kernels {
namespace {

#include "codegen/kernels/scalar_text.inc"

constexpr char kTypes[] = R"(namespace spmd_kernels {
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned;
using uint64_t = unsigned long long;
)";

constexpr char kCppFunctions[] = R"(
// Not inlined: a kernel calls it once a row, and it would be most of what is to be compiled.
template <typename T, T (*kOp)(T, T)>
__attribute__((noinline)) T combine_partials(T* partial, int count) {
  for (int half = count / 2; half > 0; half /= 2)
    for (int j = 0; j < half; ++j) partial[j] = kOp(partial[j], partial[j + half]);
  return partial[0];
}
)";

constexpr char kCudaTypes[] = R"(
template <int kCount>
struct Args {
  void* p[kCount];
};
template <typename T, int kCount>
struct alignas(sizeof(T) * kCount < 16 ? sizeof(T) * kCount : 16) Vec {
  T v[kCount];
};
template <typename T>
inline T from_lane(T value, int mask) {
  if constexpr (sizeof(T) < 4) return static_cast<T>(__shfl_xor_sync(~0u, int(value), mask));
  else return __shfl_xor_sync(~0u, value, mask);
}
)";

// CUDA's math functions in the place of GCC's and of our polynomials, which are made for loops.
constexpr char kCudaMath[] = R"(
#define __builtin_memcpy memcpy
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000LL)
#define __builtin_nan(text) __longlong_as_double(0x7ff8000000000000LL)
#define __builtin_clzll __clzll
#define __builtin_popcountll __popcll
#define __builtin_fabsf ::fabsf
#define __builtin_fabs ::fabs
#define __builtin_fmodf ::fmodf
#define __builtin_fmod ::fmod
#define __builtin_sqrtf ::sqrtf
#define __builtin_sqrt ::sqrt
#define __builtin_ceilf ::ceilf
#define __builtin_ceil ::ceil
#define __builtin_floorf ::floorf
#define __builtin_floor ::floor
#define __builtin_rintf ::rintf
#define __builtin_rint ::rint
#define __builtin_roundf ::roundf
#define __builtin_round ::round
#define __builtin_exp ::exp
#define __builtin_expm1 ::expm1
#define __builtin_log ::log
#define __builtin_log1p ::log1p
#define __builtin_tanh ::tanh
#define __builtin_erf ::erf
#define __builtin_cbrt ::cbrt
#define __builtin_tan ::tan
#define __builtin_atan2 ::atan2
#define __builtin_sin ::sin
#define __builtin_cos ::cos
#define __builtin_pow ::pow
inline float fast_exp(float x) { return ::expf(x); }
inline float fast_expm1(float x) { return ::expm1f(x); }
inline float fast_log(float x) { return ::logf(x); }
inline float fast_log1p(float x) { return ::log1pf(x); }
inline float fast_logistic(float x) { return 1.0f / (1.0f + ::expf(-x)); }
inline float fast_tanh(float x) { return ::tanhf(x); }
inline float fast_erf(float x) { return ::erff(x); }
constexpr float kTrigLimit = 0x1.fffffep127f;
inline float fast_sine(float x, uint64_t quadrant) { return quadrant ? ::cosf(x) : ::sinf(x); }
inline float fast_pow(float x, float y) { return ::powf(x, y); }
)";

// Conversions that are one instruction. A NaN loses its payload.
constexpr char kCudaHalf[] = R"(
#ifdef __CUDA_ARCH__
#define SPMD_HAS_HALF_CONVERSIONS
inline float widen_bf16(uint16_t x) { return __uint_as_float(uint32_t(x) << 16); }
inline uint16_t narrow_bf16(float x) {
  uint16_t result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(x));
  return result;
}
inline float round_bf16(float x) {
  uint32_t result;  // of a pair, whose other half is zero
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(x), "f"(0.0f));
  return __uint_as_float(result);
}
inline float widen_f16(uint16_t x) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x));
  return result;
}
inline uint16_t narrow_f16(float x) {
  uint16_t result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(x));
  return result;
}
inline float round_f16(float x) { return widen_f16(narrow_f16(x)); }
#endif
)";

// Pairs of floats of 16 bits: pair_text.h. Sums and products are fused multiply-adds that round
// once, with one and minus zero as what changes nothing. They are those of float32 rounded to 16
// bits: 24 bits are enough for two roundings to be one (Figueroa 1995).
constexpr char kCudaPairs[] = R"(
#ifdef __CUDA_ARCH__
#define SPMD_PAIRS(type, one, minus_one)                                                     \
  inline uint32_t pair_##type(float low, float high) {                                       \
    uint32_t result;                                                                         \
    asm("cvt.rn." #type "x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));           \
    return result;                                                                           \
  }                                                                                          \
  inline uint32_t fma_pairs_##type(uint32_t a, uint32_t b, uint32_t c) {                     \
    uint32_t result;                                                                         \
    asm("fma.rn." #type "x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));        \
    return result;                                                                           \
  }                                                                                          \
  inline uint32_t add_pairs_##type(uint32_t a, uint32_t b) {                                 \
    return fma_pairs_##type(a, one, b);                                                      \
  }                                                                                          \
  inline uint32_t subtract_pairs_##type(uint32_t a, uint32_t b) {                            \
    return fma_pairs_##type(b, minus_one, a);                                                \
  }                                                                                          \
  inline uint32_t multiply_pairs_##type(uint32_t a, uint32_t b) {                            \
    return fma_pairs_##type(a, b, 0x80008000u);                                              \
  }
SPMD_PAIRS(bf16, 0x3f803f80u, 0xbf80bf80u)
SPMD_PAIRS(f16, 0x3c003c00u, 0xbc00bc00u)
inline float low_bf16(uint32_t x) { return __uint_as_float(x << 16); }
inline float high_bf16(uint32_t x) { return __uint_as_float(x & 0xffff0000u); }
#else
#define SPMD_PAIRS(type)                                                                     \
  inline uint32_t pair_##type(float low, float high) {                                       \
    return narrow_##type(low) | uint32_t(narrow_##type(high)) << 16;                         \
  }                                                                                          \
  inline float low_##type(uint32_t x);                                                       \
  inline float high_##type(uint32_t x);                                                      \
  inline uint32_t add_pairs_##type(uint32_t a, uint32_t b) {                                 \
    return pair_##type(low_##type(a) + low_##type(b), high_##type(a) + high_##type(b));      \
  }                                                                                          \
  inline uint32_t subtract_pairs_##type(uint32_t a, uint32_t b) {                            \
    return pair_##type(low_##type(a) - low_##type(b), high_##type(a) - high_##type(b));      \
  }                                                                                          \
  inline uint32_t multiply_pairs_##type(uint32_t a, uint32_t b) {                            \
    return pair_##type(low_##type(a) * low_##type(b), high_##type(a) * high_##type(b));      \
  }
SPMD_PAIRS(bf16)
SPMD_PAIRS(f16)
inline float low_bf16(uint32_t x) { return widen_bf16(uint16_t(x)); }
inline float high_bf16(uint32_t x) { return widen_bf16(uint16_t(x >> 16)); }
#endif
inline float low_f16(uint32_t x) { return widen_f16(uint16_t(x)); }
inline float high_f16(uint32_t x) { return widen_f16(uint16_t(x >> 16)); }
)";

// Functions whose results are rounded to 16 bits: exact to 2^-16 is enough for the same numbers but
// for one in a hundred, which are neighbours.
constexpr char kCudaHalfMath[] = R"(
#ifdef __CUDA_ARCH__
inline float half_divide(float a, float b) {
  float result;
  asm("div.full.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
inline float half_exponential(float x) { return ::__expf(x); }
inline float reciprocal_above_one(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
inline float half_logistic(float x) { return reciprocal_above_one(1.0f + ::__expf(-x)); }
inline float half_tanh(float x) {
  // Near zero, where the quotient loses its digits, its series.
  const float quotient = 1.0f - 2.0f * reciprocal_above_one(::__expf(2.0f * x) + 1.0f);
  return ::fabsf(x) < 0.06f ? x - x * x * x * (1.0f / 3.0f) : quotient;
}
#else
inline float half_divide(float a, float b) { return a / b; }
inline float half_exponential(float x) { return exponential(x); }
inline float half_logistic(float x) { return logistic(x); }
inline float half_tanh(float x) { return hyperbolic_tangent(x); }
#endif
)";

}  // namespace

std::string cpp_prelude() {
  std::string text = kTypes;
  text += "namespace {\n";
  for (const char* part :
       {kText_scalar_types, kText_float_odd, kText_scalar_math, kText_scalar_ops, kCppFunctions})
    text += part;
  return text + "}  // namespace\n";
}

std::string cuda_prelude() {
  std::string text = kTypes;
  text += "namespace {\n";
  for (const char* part : {kCudaTypes, kCudaMath, kCudaHalf, kText_scalar_types, kText_float_odd,
                           kText_scalar_ops, kCudaPairs, kCudaHalfMath})
    text += part;
  return text + "}  // namespace\n";
}

}  // namespace spmd::codegen::kernels
