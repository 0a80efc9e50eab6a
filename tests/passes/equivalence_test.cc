// Comparing results, and what rounding may do to them.
#include <cmath>
#include <limits>

#include "ir/evaluator.h"
#include "passes/equivalence/compare.h"
#include "passes/equivalence/padded.h"
#include "passes/equivalence/random_inputs.h"
#include "passes/equivalence/rounding.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

const TensorType kPair{DType::kF32, {2}};

std::string difference(const Literal& expected, const Literal& found,
                       const std::vector<double>& distances = {}) {
  std::vector<Allowance> allowances;
  for (double distance : distances) allowances.push_back({distance, {}});
  return first_difference(std::vector{expected}, std::vector{found}, allowances);
}

TEST(FirstDifference, SaysWhereAndWhat) {
  const Literal a = Literal::of<float>(kPair, {1, 4}), b = Literal::of<float>(kPair, {1, 5});
  EXPECT_EQ(difference(a, a), "");
  EXPECT_EQ(difference(a, b), "result 0 element 1 is 5, expected 4");
  EXPECT_EQ(difference(a, b, {0.5}), "result 0 element 1 is 5, expected 4 within 0.5");
  EXPECT_EQ(difference(a, b, {1}), "");
  EXPECT_EQ(difference(a, Literal(TensorType{DType::kF32, {3}})),
            "result 0 has type tensor<3xf32>, expected tensor<2xf32>");
}

TEST(FirstDifference, OfSpecialNumbers) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const auto pair = [](float x, float y) { return Literal::of<float>(kPair, {x, y}); };
  EXPECT_EQ(difference(pair(nan, 0.0f), pair(nan, -0.0f)), "");
  EXPECT_EQ(difference(pair(1, 1), pair(1, nan), {100}),
            "result 0 element 1 is nan, expected 1 within 100");
  EXPECT_EQ(difference(pair(inf, 1), pair(inf, 1)), "");
  EXPECT_NE(difference(pair(inf, 1), pair(-inf, 1), {1e30}), "");
}

TEST(FirstDifference, OfLargeIntegersAndComplexNumbers) {
  const TensorType one{DType::kU64, {1}};
  const uint64_t large = uint64_t{1} << 60;
  EXPECT_NE(
      difference(Literal::of<uint64_t>(one, {large}), Literal::of<uint64_t>(one, {large + 1})), "");
  const TensorType complex{DType::kC64, {1}};
  EXPECT_EQ(difference(Literal::of<float>(complex, {1, 2}), Literal::of<float>(complex, {1, 3})),
            "result 0 element 0 is 3, expected 2");
}

TEST(Resized, KeepsTheLowCorner) {
  const Literal square = Literal::of<int32_t>({DType::kS32, {2, 2}}, {1, 2, 3, 4});
  const Literal grown = resized(square, {2, 3}), cut = resized(square, {2, 1});
  EXPECT_EQ(grown.as_int(0), 1);
  EXPECT_EQ(grown.as_int(4), 4);
  EXPECT_GT(grown.as_int(2), 1000);  // what stands in padding is no number of the program's
  EXPECT_EQ(cut.as_int(0), 1);
  EXPECT_EQ(cut.as_int(1), 3);
}

TEST(RandomInputs, KeepWhatTheirStylePromises) {
  const Module module = program(
      {"tensor<200xf32>", "tensor<200xi32>", "tensor<200xui8>", "tensor<200xi4>", "tensor<200xi1>"},
      "return %x0 : tensor<200xf32>");
  const auto range = [](const Literal& literal) {
    double low = 1e9, high = -1e9;
    for (int64_t i = 0; i < literal.type().num_elements(); ++i) {
      low = std::min(low, literal.as_double(i));
      high = std::max(high, literal.as_double(i));
    }
    return std::pair{low, high};
  };
  const std::vector<Literal> whole = random_inputs(module, 1, InputStyle::kWhole);
  EXPECT_EQ(range(whole[0]), (std::pair{-3.0, 3.0}));
  EXPECT_EQ(range(whole[1]), (std::pair{-3.0, 14.0}));
  EXPECT_EQ(range(whole[2]), (std::pair{0.0, 14.0}));
  EXPECT_EQ(range(whole[3]), (std::pair{-3.0, 7.0}));
  EXPECT_EQ(range(whole[4]), (std::pair{0.0, 1.0}));
  const std::vector<Literal> real = random_inputs(module, 1, InputStyle::kReal);
  EXPECT_LT(range(real[0]).first, -1.8);
  EXPECT_GT(range(real[0]).second, 1.8);
  EXPECT_LE(std::abs(range(real[0]).first), 2);
  int fractions = 0;
  for (int64_t i = 0; i < 200; ++i) {
    fractions += real[0].as_double(i) != std::round(real[0].as_double(i)) ? 1 : 0;
  }
  EXPECT_GT(fractions, 190);
  EXPECT_EQ(random_inputs(module, 1, InputStyle::kReal)[0], real[0]);
  EXPECT_FALSE(random_inputs(module, 2, InputStyle::kReal)[0] == real[0]);
}

// ---- rounding

double allowance(const Module& module) {
  const std::vector<Literal> inputs = random_inputs(module, 3, InputStyle::kReal);
  return rounding_allowances(module, inputs, evaluate(module, inputs), 3)[0].distance;
}

TEST(RoundingAllowances, GrowWithTheConditionOfTheProgram) {
  const double plain = allowance(program({"tensor<64xf32>"}, "return %x0 : tensor<64xf32>"));
  EXPECT_GT(plain, 1e-6);  // a few units of the last place of numbers up to 2
  EXPECT_LT(plain, 2e-5);
  // 1 / (x - y) of numbers next to each other loses nearly all digits.
  const double cancelling = allowance(program({"tensor<64xf32>"}, R"(
    %c = stablehlo.constant dense<1.0> : tensor<64xf32>
    %0 = stablehlo.exponential %x0 : tensor<64xf32>
    %1 = stablehlo.subtract %0, %c : tensor<64xf32>
    %2 = stablehlo.divide %c, %1 : tensor<64xf32>
    %3 = stablehlo.multiply %2, %2 : tensor<64xf32>
    return %3 : tensor<64xf32>)"));
  EXPECT_GT(cancelling, 100 * plain);
}

// Two equal sums cancel exactly, whatever their terms; summed in another order one of them need
// not.
TEST(RoundingAllowances, KnowWhatCancelsOnlyInOneOrder) {
  const double cancelled = allowance(program({"tensor<64xf32>"}, R"(
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.reduce(%x0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.subtract %0, %1 : tensor<f32>
    return %2 : tensor<f32>)"));
  EXPECT_GT(cancelled, 1e-7);
  EXPECT_LT(cancelled, 1e-2);
}

// One after the other, equal terms are rounded in the same direction each time.
TEST(RoundingAllowances, GrowWithTheTermsOfASum) {
  const Module module = program({"tensor<f32>"}, R"(
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %x0, dims = [] : (tensor<f32>) -> tensor<240xf32>
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<240xf32>, tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>)");
  for (float term : {-0.88195950F, 1.1F, 0.3F, 1.9F}) {
    float sum = 0;
    for (int i = 0; i < 240; ++i) sum += term;
    const std::vector<Literal> inputs = {Literal::splat({DType::kF32, {}}, term)};
    const double allowed =
        rounding_allowances(module, inputs, evaluate(module, inputs), 3)[0].distance;
    EXPECT_GT(allowed, std::abs(240 * static_cast<double>(term) - sum)) << term;
    EXPECT_LT(allowed, 1e-4 * std::abs(sum)) << term;
  }
}

// Of equal values the queries' gradient is a sum of differences that cancel: zero as a whole, some
// units of the last place of what they are differences of as an implementation adds it up.
TEST(RoundingAllowances, WhatCompositesRoundInside) {
  const double allowed =
      allowance(program({"tensor<1x4x1x1x3xf32>", "tensor<1x4x1x3xf32>", "tensor<f32>"}, R"(
    %v = stablehlo.broadcast_in_dim %x2, dims = [] : (tensor<f32>) -> tensor<1x4x1x3xf32>
    %o:2 = "spmd.attention"(%x0, %x1, %v) <{causal = false, scale = 1.0 : f64}> : (tensor<1x4x1x1x3xf32>, tensor<1x4x1x3xf32>, tensor<1x4x1x3xf32>) -> (tensor<1x4x1x1x3xf32>, tensor<1x1x1x4xf32>)
    %g:3 = "spmd.attention_backward"(%x0, %x1, %v, %o#0, %o#1, %x0) <{causal = false, scale = 1.0 : f64}> : (tensor<1x4x1x1x3xf32>, tensor<1x4x1x3xf32>, tensor<1x4x1x3xf32>, tensor<1x4x1x1x3xf32>, tensor<1x1x1x4xf32>, tensor<1x4x1x1x3xf32>) -> (tensor<1x4x1x1x3xf32>, tensor<1x4x1x3xf32>, tensor<1x4x1x3xf32>)
    return %g#0 : tensor<1x4x1x1x3xf32>)"));
  EXPECT_GT(allowed, 1e-6);
  EXPECT_LT(allowed, 1e-3);
}

// exp(88.72284) is just above the largest float32: moved a little, it is finite. Its neighbours are
// as certain as without it.
TEST(RoundingAllowances, LeaveUndecidedOnlyWhatMayOverflow) {
  const Module module = program({"tensor<3xf32>"}, R"(
    %0 = stablehlo.exponential %x0 : tensor<3xf32>
    return %0 : tensor<3xf32>)");
  const std::vector<Literal> inputs = {Literal::of<float>({DType::kF32, {3}}, {1, 88.72284f, 2})};
  const std::vector<Literal> expected = evaluate(module, inputs);
  const std::vector<Allowance> allowances = rounding_allowances(module, inputs, expected, 3);
  EXPECT_EQ(allowances[0].undecided, (std::vector<bool>{false, true, false}));
  EXPECT_LT(allowances[0].distance, 1e-4);
  const float inf = std::numeric_limits<float>::infinity();
  const auto found = [&](float first, float second) {
    const Literal literal = Literal::of<float>({DType::kF32, {3}}, {first, second, 7.389056f});
    return first_difference(expected, std::vector{literal}, allowances);
  };
  EXPECT_EQ(found(2.7182818f, inf), "");
  EXPECT_EQ(found(2.7182818f, 3.4e38f), "");
  EXPECT_NE(found(2.72f, inf), "");
  EXPECT_NE(found(inf, inf), "");
  EXPECT_NE(found(std::nanf(""), inf), "");
}

TEST(RoundingAllowances, KnowTheCoarsestType) {
  const double coarse = allowance(program({"tensor<64xf32>"}, R"(
    %0 = stablehlo.convert %x0 : (tensor<64xf32>) -> tensor<64xbf16>
    %1 = stablehlo.convert %0 : (tensor<64xbf16>) -> tensor<64xf32>
    return %1 : tensor<64xf32>)"));
  EXPECT_GT(coarse, 0.05);
  EXPECT_LT(coarse, 1);
}

TEST(RoundingAllowances, AreNoneForWholeNumbers) {
  EXPECT_EQ(allowance(program({"tensor<64xi32>"}, R"(
    %0 = stablehlo.multiply %x0, %x0 : tensor<64xi32>
    return %0 : tensor<64xi32>)")),
            0);
}

}  // namespace
}  // namespace spmd::testing
