#include <cmath>

#include "tests/ir/eval_testing.h"

namespace spmd::testing {
namespace {

using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;

Ints ints_of(OpCode code, DType dtype, const Doubles& a, const Doubles& b) {
  return ints(apply(code, {numbers(dtype, a), numbers(dtype, b)}));
}
Doubles floats_of(OpCode code, const std::vector<float>& a, const std::vector<float>& b) {
  const auto n = static_cast<int64_t>(a.size());
  return doubles(apply(code, {f32({n}, a), f32({n}, b)}));
}
Doubles floats_of(OpCode code, const std::vector<float>& a) {
  return doubles(apply(code, {f32({static_cast<int64_t>(a.size())}, a)}));
}

TEST(EvalElementwise, IntegersWrap) {
  EXPECT_EQ(ints_of(OpCode::kAdd, DType::kS8, {127, -128}, {1, -1}), (Ints{-128, 127}));
  EXPECT_EQ(ints_of(OpCode::kMultiply, DType::kU16, {65535}, {65535}), (Ints{1}));
  EXPECT_EQ(ints_of(OpCode::kSubtract, DType::kU4, {0, 5}, {1, 2}), (Ints{15, 3}));
  EXPECT_EQ(ints_of(OpCode::kAdd, DType::kS4, {7, -8}, {1, -1}), (Ints{-8, 7}));
  EXPECT_EQ(ints(apply(OpCode::kAbs, {numbers(DType::kS32, {-2147483648.0, -3, 4})})),
            (Ints{-2147483648LL, 3, 4}));
  EXPECT_EQ(ints(apply(OpCode::kNegate, {numbers(DType::kU8, {1, 0})})), (Ints{255, 0}));
}

TEST(EvalElementwise, IntegerDivisionTruncatesAndHasNoTraps) {
  EXPECT_EQ(ints_of(OpCode::kDivide, DType::kS32, {7, -7, 7, -2147483648.0, 5}, {2, 2, -2, -1, 0}),
            (Ints{3, -3, -3, -2147483648LL, -1}));
  EXPECT_EQ(
      ints_of(OpCode::kRemainder, DType::kS32, {7, -7, 7, -2147483648.0, 5}, {3, 3, -3, -1, 0}),
      (Ints{1, -1, 1, 0, 5}));
  EXPECT_EQ(ints_of(OpCode::kDivide, DType::kU8, {200, 7}, {3, 0}), (Ints{66, 255}));
}

TEST(EvalElementwise, PowerOfIntegers) {
  EXPECT_EQ(
      ints_of(OpCode::kPower, DType::kS32, {2, -3, 2, 1, -1, -1, 0}, {10, 3, -1, -5, -2, -3, 0}),
      (Ints{1024, -27, 0, 1, 1, -1, 1}));
  EXPECT_EQ(ints_of(OpCode::kPower, DType::kU8, {2, 3}, {8, 5}), (Ints{0, 243}));
}

TEST(EvalElementwise, ShiftsBeyondTheWidth) {
  EXPECT_EQ(ints_of(OpCode::kShiftLeft, DType::kS32, {1, 1, 1, 1}, {31, 32, 33, -1}),
            (Ints{-2147483648LL, 0, 0, 0}));
  EXPECT_EQ(ints_of(OpCode::kShiftRightLogical, DType::kS8, {-1, -1, -128}, {1, 8, 7}),
            (Ints{127, 0, 1}));
  EXPECT_EQ(ints_of(OpCode::kShiftRightArithmetic, DType::kS8, {-128, -1, 64, 64}, {1, 100, 3, 8}),
            (Ints{-64, -1, 8, 0}));
  EXPECT_EQ(ints_of(OpCode::kShiftRightLogical, DType::kS4, {-1, -8}, {1, 3}), (Ints{7, 1}));
}

TEST(EvalElementwise, BitsAreCountedInTheTypesWidth) {
  EXPECT_EQ(ints(apply(OpCode::kCountLeadingZeros, {numbers(DType::kS32, {0, 1, -1})})),
            (Ints{32, 31, 0}));
  EXPECT_EQ(ints(apply(OpCode::kCountLeadingZeros, {numbers(DType::kU8, {1, 128})})), (Ints{7, 0}));
  EXPECT_EQ(ints(apply(OpCode::kPopulationCount, {numbers(DType::kS16, {-1, 5, 0})})),
            (Ints{16, 2, 0}));
  EXPECT_EQ(ints(apply(OpCode::kPopulationCount, {numbers(DType::kS4, {-1})})), (Ints{4}));
}

TEST(EvalElementwise, BooleansAddAsOrAndMultiplyAsAnd) {
  const Literal a = boolean({4}, {0, 0, 1, 1}), b = boolean({4}, {0, 1, 0, 1});
  EXPECT_EQ(ints(apply(OpCode::kAdd, {a, b})), (Ints{0, 1, 1, 1}));
  EXPECT_EQ(ints(apply(OpCode::kMultiply, {a, b})), (Ints{0, 0, 0, 1}));
  EXPECT_EQ(ints(apply(OpCode::kMaximum, {a, b})), (Ints{0, 1, 1, 1}));
  EXPECT_EQ(ints(apply(OpCode::kXor, {a, b})), (Ints{0, 1, 1, 0}));
  EXPECT_EQ(ints(apply(OpCode::kNot, {b})), (Ints{1, 0, 1, 0}));
}

TEST(EvalElementwise, MaximumAndMinimumKeepNanAndOrderZeros) {
  const Doubles max =
      floats_of(OpCode::kMaximum, {1, kNan, 2, -0.0f, 0.0f}, {kNan, 1, 3, 0.0f, -0.0f});
  EXPECT_TRUE(std::isnan(max[0]) && std::isnan(max[1]));
  EXPECT_EQ(max[2], 3);
  EXPECT_FALSE(std::signbit(max[3]) || std::signbit(max[4]));
  const Doubles min =
      floats_of(OpCode::kMinimum, {1, kNan, 2, -0.0f, 0.0f}, {kNan, 1, 3, 0.0f, -0.0f});
  EXPECT_TRUE(std::isnan(min[0]) && std::isnan(min[1]));
  EXPECT_EQ(min[2], 2);
  EXPECT_TRUE(std::signbit(min[3]) && std::signbit(min[4]));
}

TEST(EvalElementwise, RemainderHasTheDividendsSign) {
  EXPECT_EQ(floats_of(OpCode::kRemainder, {5.5f, -5.5f, 5.5f, 3}, {2, 2, -2, kInf}),
            (Doubles{1.5, -1.5, 1.5, 3}));
  EXPECT_TRUE(std::isnan(floats_of(OpCode::kRemainder, {1}, {0})[0]));
}

TEST(EvalElementwise, Rounding) {
  const std::vector<float> x{0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f};
  EXPECT_EQ(floats_of(OpCode::kRoundNearestEven, x), (Doubles{0, 2, 2, -0.0, -2, -2}));
  EXPECT_EQ(floats_of(OpCode::kRoundNearestAfz, x), (Doubles{1, 2, 3, -1, -2, -3}));
  EXPECT_EQ(floats_of(OpCode::kFloor, {-1.5f, 1.5f}), (Doubles{-2, 1}));
  EXPECT_EQ(floats_of(OpCode::kCeil, {-1.5f, 1.5f}), (Doubles{-1, 2}));
}

TEST(EvalElementwise, SignKeepsZerosAndNan) {
  const Doubles sign = floats_of(OpCode::kSign, {-3, 5, -0.0f, kNan, -kInf});
  EXPECT_EQ(sign[0], -1);
  EXPECT_EQ(sign[1], 1);
  EXPECT_TRUE(sign[2] == 0 && std::signbit(sign[2]));
  EXPECT_TRUE(std::isnan(sign[3]));
  EXPECT_EQ(sign[4], -1);
}

TEST(EvalElementwise, TranscendentalsAtKnownPoints) {
  EXPECT_EQ(floats_of(OpCode::kExponential, {0, -kInf, kInf}), (Doubles{1, 0, kInf}));
  EXPECT_EQ(floats_of(OpCode::kLog, {1, 0, kInf}), (Doubles{0, -kInf, kInf}));
  EXPECT_EQ(floats_of(OpCode::kLogistic, {0, kInf, -kInf}), (Doubles{0.5, 1, 0}));
  EXPECT_EQ(floats_of(OpCode::kTanh, {0, kInf, -kInf}), (Doubles{0, 1, -1}));
  EXPECT_EQ(floats_of(OpCode::kRsqrt, {4, 0, kInf}), (Doubles{0.5, kInf, 0}));
  EXPECT_EQ(floats_of(OpCode::kSqrt, {9, 0}), (Doubles{3, 0}));
  EXPECT_EQ(floats_of(OpCode::kCbrt, {-27, 8}), (Doubles{-3, 2}));
  EXPECT_EQ(floats_of(OpCode::kErf, {0, kInf}), (Doubles{0, 1}));
  EXPECT_NEAR(floats_of(OpCode::kErf, {0.5f})[0], 0.5204998778, 1e-7);
  EXPECT_EQ(floats_of(OpCode::kSquare, {-3, 1.5f}), (Doubles{9, 2.25}));
  // Small arguments do not cancel.
  EXPECT_EQ(floats_of(OpCode::kExponentialMinusOne, {1e-10f})[0], 1e-10f);
  EXPECT_EQ(floats_of(OpCode::kLogPlusOne, {1e-10f})[0], 1e-10f);
  EXPECT_EQ(floats_of(OpCode::kPower, {2, 0, kNan, 9}, {-1, 0, 0, 0.5f}), (Doubles{0.5, 1, 1, 3}));
  EXPECT_NEAR(floats_of(OpCode::kAtan2, {-1}, {-1})[0], -3 * M_PI / 4, 1e-6);
}

TEST(EvalElementwise, ComparisonsWithNan) {
  const Literal a = f32({4}, {1, kNan, kNan, 2}), b = f32({4}, {kNan, 1, kNan, 2});
  const auto compared = [&](CompareDirection direction) {
    return ints(apply(OpCode::kCompare, {a, b}, CompareAttrs{direction, CompareType::kFloat}));
  };
  EXPECT_EQ(compared(CompareDirection::kEq), (Ints{0, 0, 0, 1}));
  EXPECT_EQ(compared(CompareDirection::kNe), (Ints{1, 1, 1, 0}));
  EXPECT_EQ(compared(CompareDirection::kLt), (Ints{0, 0, 0, 0}));
  EXPECT_EQ(compared(CompareDirection::kGe), (Ints{0, 0, 0, 1}));
}

TEST(EvalElementwise, TotalOrder) {
  // Each element is less than the next.
  const std::vector<float> ordered{-kNan, -kInf, -1, -0.0f, 0.0f, 1, kInf, kNan};
  const Literal a = f32({7}, {ordered.begin(), ordered.end() - 1});
  const Literal b = f32({7}, {ordered.begin() + 1, ordered.end()});
  const CompareAttrs less{CompareDirection::kLt, CompareType::kTotalOrder};
  EXPECT_EQ(ints(apply(OpCode::kCompare, {a, b}, less)), Ints(7, 1));
  EXPECT_EQ(ints(apply(OpCode::kCompare, {b, a}, less)), Ints(7, 0));
}

TEST(EvalElementwise, UnsignedComparesAboveTheSignBit) {
  const Literal a = numbers(DType::kU32, {4294967295.0}), b = numbers(DType::kU32, {1});
  EXPECT_EQ(ints(apply(OpCode::kCompare, {a, b}, CompareAttrs{CompareDirection::kGt})), Ints{1});
}

TEST(EvalElementwise, SelectByScalarAndByElement) {
  const Literal a = f32({3}, {1, 2, 3}), b = f32({3}, {4, 5, 6});
  EXPECT_EQ(doubles(apply(OpCode::kSelect, {boolean({}, {0}), a, b})), (Doubles{4, 5, 6}));
  EXPECT_EQ(doubles(apply(OpCode::kSelect, {boolean({3}, {1, 0, 1}), a, b})), (Doubles{1, 5, 3}));
}

TEST(EvalElementwise, ClampWithScalarBounds) {
  const Literal x = f32({4}, {-5, 0.5f, 7, kNan});
  const Doubles y = doubles(apply(OpCode::kClamp, {f32({}, {0}), x, f32({}, {1})}));
  EXPECT_EQ(Doubles(y.begin(), y.end() - 1), (Doubles{0, 0.5, 1}));
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(EvalElementwise, NarrowFloatsAreRoundedOnce) {
  // 1 + 2^-8 is halfway between two bf16 numbers: the even one is 1.
  const Literal one = numbers(DType::kBF16, {1}), small = numbers(DType::kBF16, {0.00390625});
  EXPECT_EQ(doubles(apply(OpCode::kAdd, {one, small})), Doubles{1});
  // 1.0078125^2 = 1.01568603515625, between 1.015625 and 1.0234375.
  EXPECT_EQ(doubles(apply(OpCode::kSquare, {numbers(DType::kBF16, {1.0078125})})),
            Doubles{1.015625});
  // 65504 + 8 rounds back to the largest f16, 65504 + 32 does not.
  EXPECT_EQ(doubles(apply(OpCode::kAdd,
                          {numbers(DType::kF16, {65504, 65504}), numbers(DType::kF16, {8, 32})})),
            (Doubles{65504, kInf}));
}

TEST(EvalElementwise, ConvertFloatToInteger) {
  const Literal x = f32({6}, {2.9f, -2.9f, 300, -300, kNan, kInf});
  EXPECT_EQ(ints(apply_to(OpCode::kConvert, {x}, {DType::kS8, {6}})),
            (Ints{2, -2, 127, -128, 0, 127}));
  EXPECT_EQ(ints(apply_to(OpCode::kConvert, {x}, {DType::kU8, {6}})), (Ints{2, 0, 255, 0, 0, 255}));
  EXPECT_EQ(ints(apply_to(OpCode::kConvert, {x}, {DType::kS4, {6}})), (Ints{2, -2, 7, -8, 0, 7}));
  EXPECT_EQ(ints(apply_to(OpCode::kConvert, {x}, {DType::kBool, {6}})), Ints(6, 1));
}

TEST(EvalElementwise, ConvertIntegers) {
  const Literal x = s32({4}, {-1, 256, 65537, 7});
  EXPECT_EQ(ints(apply_to(OpCode::kConvert, {x}, {DType::kU8, {4}})), (Ints{255, 0, 1, 7}));
  EXPECT_EQ(ints(apply_to(OpCode::kConvert, {x}, {DType::kS64, {4}})), (Ints{-1, 256, 65537, 7}));
  EXPECT_EQ(ints(apply_to(OpCode::kConvert, {x}, {DType::kS4, {4}})), (Ints{-1, 0, 1, 7}));
  EXPECT_EQ(doubles(apply_to(OpCode::kConvert, {x}, {DType::kF32, {4}})),
            (Doubles{-1, 256, 65537, 7}));
  EXPECT_EQ(ints(apply_to(OpCode::kConvert, {boolean({2}, {0, 1})}, {DType::kS32, {2}})),
            (Ints{0, 1}));
}

TEST(EvalElementwise, ConvertRoundsToNearestEvenWithoutDoubleRounding) {
  const auto to = [](DType dtype, double x) {
    const Literal from = Literal::of<double>({DType::kF64, {1}}, {x});
    return doubles(apply_to(OpCode::kConvert, {from}, {dtype, {1}}))[0];
  };
  EXPECT_EQ(to(DType::kBF16, 1.00390625), 1.0);       // tie to even
  EXPECT_EQ(to(DType::kBF16, 1.01171875), 1.015625);  // tie to even, upwards
  // Just above the tie, though float32 cannot tell.
  EXPECT_EQ(to(DType::kBF16, 1.00390625 + 1e-12), 1.0078125);
  EXPECT_EQ(to(DType::kF8E5M2, 61439), 57344);
  EXPECT_EQ(to(DType::kF8E5M2, 61440), kInf);
  EXPECT_EQ(to(DType::kF8E4M3FN, 464), 448);
  EXPECT_TRUE(std::isnan(to(DType::kF8E4M3FN, 480)));
  EXPECT_EQ(to(DType::kF8E4M3FN, 0.001953125), 0.001953125);  // 2^-9, the smallest
  EXPECT_EQ(to(DType::kF16, 5.960464477539063e-08), 5.960464477539063e-08);
}

TEST(EvalElementwise, ReducePrecision) {
  const Literal x = f32({5}, {1.00390625f, 1.01171875f, 1e30f, 1e-30f, kNan});
  const Doubles y = doubles(apply(OpCode::kReducePrecision, {x}, ReducePrecisionAttrs{5, 7}));
  EXPECT_EQ(Doubles(y.begin(), y.end() - 1), (Doubles{1, 1.015625, kInf, 0}));
  EXPECT_TRUE(std::isnan(y[4]));
}

TEST(EvalElementwise, SplatsStaySplats) {
  const Literal big = Literal::splat({DType::kF32, {1000, 1000}}, 2.0);
  const Literal sum = apply(OpCode::kAdd, {big, big});
  EXPECT_TRUE(sum.is_splat());
  EXPECT_EQ(sum.as_double(999999), 4);
}

TEST(EvalElementwise, EmptyTensors) {
  EXPECT_EQ(doubles(apply(OpCode::kAdd, {f32({0, 3}, {}), f32({0, 3}, {})})), Doubles{});
}

TEST(EvalElementwise, ComplexNumbers) {
  const Literal a = Literal::of<float>({DType::kC64, {1}}, {3, 4});
  const Literal square = apply(OpCode::kMultiply, {a, a});
  EXPECT_EQ(square.as<float>()[0], -7);
  EXPECT_EQ(square.as<float>()[1], 24);
  EXPECT_EQ(doubles(apply(OpCode::kAbs, {a})), Doubles{5});
}

}  // namespace
}  // namespace spmd::testing
