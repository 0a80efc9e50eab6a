#include "runtime/device/cpu/vector_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "support/float_formats.h"

namespace spmd::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Distance from the exact value in units of the last place of the nearest float.
double ulps(float got, double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::fabs(got - exact) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

std::vector<float> apply_loop(TileOp op, const std::vector<float>& x) {
  std::vector<float> out(x.size());
  const void* args[] = {x.data()};
  loops().find(op, Lane::kF32)(out.data(), args, static_cast<int64_t>(x.size()), 0);
  return out;
}

struct Function {
  TileOp op;
  double (*exact)(double);
  float low, high;
};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double rsqrt(double x) { return 1 / std::sqrt(x); }

TEST(VectorMath, ErrorsStayWithinTwoUlps) {
  const Function functions[] = {
      {TileOp::kExponential, std::exp, -80, 88},
      {TileOp::kExponentialMinusOne, std::expm1, -20, 88},
      {TileOp::kExponentialMinusOne, std::expm1, -1e-3f, 1e-3f},
      {TileOp::kLog, std::log, 1e-30f, 1e30f},
      {TileOp::kLog, std::log, 0.9f, 1.1f},
      {TileOp::kLogPlusOne, std::log1p, -0.99f, 5},
      {TileOp::kLogPlusOne, std::log1p, -1e-4f, 1e-4f},
      {TileOp::kTanh, std::tanh, -10, 10},
      {TileOp::kTanh, std::tanh, -1e-4f, 1e-4f},
      {TileOp::kSine, std::sin, -1000, 1000},
      {TileOp::kCosine, std::cos, -1e6f, 1e6f},
      {TileOp::kErf, std::erf, -4, 4},
      {TileOp::kLogistic, logistic, -80, 80},
      {TileOp::kRsqrt, rsqrt, 1e-10f, 1e10f},
      {TileOp::kCbrt, std::cbrt, -100, 100},
      {TileOp::kTan, std::tan, -10, 10},
  };
  std::mt19937 random(7);
  for (const Function& f : functions) {
    std::uniform_real_distribution<float> draw(f.low, f.high);
    std::vector<float> x(20000);
    for (float& v : x) v = draw(random);
    const std::vector<float> y = apply_loop(f.op, x);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(ulps(y[i], f.exact(x[i])), 2) << static_cast<int>(f.op) << " of " << x[i];
  }
}

TEST(VectorMath, LimitsAndNan) {
  const std::vector<float> x = {kInf, -kInf, kNan, 0.0f, -0.0f, 200, -200};
  const auto expect = [&](TileOp op, std::vector<float> want) {
    const std::vector<float> got = apply_loop(op, x);
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(want[i])) {
        EXPECT_TRUE(std::isnan(got[i])) << static_cast<int>(op) << " of " << x[i];
      } else {
        EXPECT_EQ(got[i], want[i]) << static_cast<int>(op) << " of " << x[i];
      }
    }
  };
  const auto near = [](double v) { return static_cast<float>(v); };
  expect(TileOp::kExponential, {kInf, 0, kNan, 1, 1, kInf, 0});
  expect(TileOp::kExponentialMinusOne, {kInf, -1, kNan, 0, 0, kInf, -1});
  expect(TileOp::kLog, {kInf, kNan, kNan, -kInf, -kInf, near(std::log(200.0)), kNan});
  expect(TileOp::kLogPlusOne, {kInf, kNan, kNan, 0, 0, near(std::log1p(200.0)), kNan});
  expect(TileOp::kTanh, {1, -1, kNan, 0, 0, 1, -1});
  expect(TileOp::kLogistic, {1, 0, kNan, 0.5f, 0.5f, 1, 0});
  expect(TileOp::kErf, {1, -1, kNan, 0, 0, 1, -1});
}

TEST(VectorMath, Power) {
  const std::vector<float> a = {2, 0.9f, -2, -2, 0, 0, kInf, 1, 5, -1};
  const std::vector<float> b = {10, 100, 3, 0.5f, 2, -1, 2, kNan, 0, kInf};
  for (size_t i = 0; i < a.size(); ++i) {
    float out = 0;
    const void* args[] = {&a[i], &b[i]};
    loops().find(TileOp::kPower, Lane::kF32)(&out, args, 1, 0);
    const double exact = std::pow(static_cast<double>(a[i]), static_cast<double>(b[i]));
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(out));
    } else if (std::isinf(exact)) {
      EXPECT_EQ(out, exact);
    } else {
      EXPECT_LE(ulps(out, exact), 2) << a[i] << " ^ " << b[i];
    }
  }
}

TEST(VectorLoops, IntegersDivideAndShiftAsXlaDoes) {
  const auto one = [](TileOp op, int32_t a, int32_t b) {
    int32_t out = 0;
    const void* args[] = {&a, &b};
    loops().find(op, Lane::kS32)(&out, args, 1, 0);
    return out;
  };
  EXPECT_EQ(one(TileOp::kDivide, 7, -2), -3);
  EXPECT_EQ(one(TileOp::kDivide, 7, 0), -1);
  EXPECT_EQ(one(TileOp::kDivide, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(one(TileOp::kRemainder, -7, 3), -1);
  EXPECT_EQ(one(TileOp::kRemainder, 7, 0), 7);
  EXPECT_EQ(one(TileOp::kRemainder, INT32_MIN, -1), 0);
  EXPECT_EQ(one(TileOp::kShiftLeft, 1, 32), 0);
  EXPECT_EQ(one(TileOp::kShiftRightArithmetic, -8, 40), -1);
  EXPECT_EQ(one(TileOp::kShiftRightLogical, -8, 28), 15);
  EXPECT_EQ(one(TileOp::kPower, 3, 4), 81);
  EXPECT_EQ(one(TileOp::kPower, 2, -1), 0);
  EXPECT_EQ(one(TileOp::kAdd, INT32_MAX, 1), INT32_MIN);
}

// IEEE 754-2019, 9.6: -0 is less than +0, and NaN is what becomes of it and a number.
template <typename T>
void expect_ordered_extrema(Lane lane) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> order = {-inf, -1, -T(0), T(0), 1, inf};
  const auto apply = [&](TileOp op, T a, T b) {
    T out = 7;
    const void* args[] = {&a, &b};
    loops().find(op, lane)(&out, args, 1, 0);
    return out;
  };
  const auto same = [](T a, T b) { return a == b && std::signbit(a) == std::signbit(b); };
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t j = 0; j < order.size(); ++j) {
      const T a = order[i], b = order[j];
      EXPECT_TRUE(same(apply(TileOp::kMaximum, a, b), order[std::max(i, j)])) << a << " " << b;
      EXPECT_TRUE(same(apply(TileOp::kMinimum, a, b), order[std::min(i, j)])) << a << " " << b;
    }
    for (TileOp op : {TileOp::kMaximum, TileOp::kMinimum}) {
      EXPECT_TRUE(std::isnan(apply(op, order[i], nan)));
      EXPECT_TRUE(std::isnan(apply(op, nan, order[i])));
    }
  }
}

TEST(VectorLoops, ExtremaOrderZeros) {
  expect_ordered_extrema<float>(Lane::kF32);
  expect_ordered_extrema<double>(Lane::kF64);
}

TEST(VectorLoops, FloatsBecomeTheNearestInteger) {
  const float x[] = {1.9f, -1.9f, 3e9f, -3e9f, kNan, kInf};
  int32_t out[6];
  const void* args[] = {x};
  loops().find_convert(Lane::kF32, Lane::kS32)(out, args, 6, 0);
  const int32_t want[] = {1, -1, INT32_MAX, INT32_MIN, 0, INT32_MAX};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out[i], want[i]) << x[i];
}

TEST(VectorLoops, PackedFloatsConvertAsFloatFormatsDo) {
  const LoopTable& table = loops();
  const int f16 = static_cast<int>(Packed::kF16), bf16 = static_cast<int>(Packed::kBF16);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto stored = static_cast<uint16_t>(bits);
    float wide = 0;
    const void* args[] = {&stored};
    table.widen[f16](&wide, args, 1, 0);
    const float want = f16_to_float(stored);
    ASSERT_TRUE(wide == want || (std::isnan(wide) && std::isnan(want))) << bits;
  }
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 9973) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    uint16_t got = 0;
    const void* args[] = {&x};
    table.narrow[bf16](&got, args, 1, 0);
    ASSERT_EQ(got, float_to_bf16(x)) << bits;
    if (std::isnan(x)) continue;
    table.narrow[f16](&got, args, 1, 0);
    ASSERT_EQ(got, float_to_f16(x)) << bits;
  }
}

TEST(VectorLoops, TotalOrder) {
  const float order[] = {-kNan, -kInf, -1, -0.0f, 0.0f, 1, kInf, kNan};
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const float a = i == 0 ? std::copysign(kNan, -1.0f) : order[i];
      const float b = j == 0 ? std::copysign(kNan, -1.0f) : order[j];
      uint8_t less = 2;
      const void* args[] = {&a, &b};
      loops().find_compare(8 /* LT_TOTAL */, Lane::kF32)(&less, args, 1, 0);
      EXPECT_EQ(less, i < j) << i << " " << j;
    }
}

TEST(VectorLoops, ReducePrecision) {
  const float x[] = {1.0f, 1.0f + 0x1p-8f, 3.14159f, 1e30f, 1e-30f, -65520.0f};
  float out[6];
  const void* args[] = {x};
  loops().find(TileOp::kReducePrecision, Lane::kF32)(out, args, 6, 5 << 8 | 10);
  for (int i = 0; i < 6; ++i) {
    const float f16 = f16_to_float(float_to_f16(x[i]));
    EXPECT_EQ(out[i], f16) << x[i];
  }
}

}  // namespace
}  // namespace spmd::cpu
