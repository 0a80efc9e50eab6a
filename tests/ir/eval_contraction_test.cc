#include "tests/ir/eval_testing.h"

namespace spmd::testing {
namespace {

using Doubles = std::vector<double>;

DotAttrs matrix_product() {
  DotAttrs attrs;
  attrs.lhs_contracting = {1};
  attrs.rhs_contracting = {0};
  return attrs;
}

TEST(EvalContraction, MatrixProduct) {
  const Literal a = f32({2, 3}, {1, 2, 3, 4, 5, 6}), b = f32({3, 2}, {7, 8, 9, 10, 11, 12});
  EXPECT_EQ(doubles(apply(OpCode::kDotGeneral, {a, b}, matrix_product())),
            (Doubles{58, 64, 139, 154}));
}

TEST(EvalContraction, BatchAndSeveralContractedDimensions) {
  // result[b, m] = sum over i, j of lhs[i, b, j, m] * rhs[j, b, i]
  Literal lhs({DType::kF32, {2, 2, 2, 1}}), rhs({DType::kF32, {2, 2, 2}});
  for (int i = 0; i < 8; ++i) {
    lhs.mutable_as<float>()[i] = static_cast<float>(i);
    rhs.mutable_as<float>()[i] = static_cast<float>(i + 1);
  }
  DotAttrs attrs;
  attrs.lhs_batch = attrs.rhs_batch = {1};
  attrs.lhs_contracting = {0, 2};
  attrs.rhs_contracting = {2, 0};
  // b=0: lhs 0,1,4,5 for (i,j)=(0,0),(0,1),(1,0),(1,1); rhs 1,5,2,6.
  // b=1: lhs 2,3,6,7; rhs 3,7,4,8.
  EXPECT_EQ(doubles(apply(OpCode::kDotGeneral, {lhs, rhs}, attrs)),
            (Doubles{0 + 5 + 8 + 30, 6 + 21 + 24 + 56}));
}

TEST(EvalContraction, EdgesOfTheBlockedLoops) {
  // Ones: every element is the contracted size.
  for (int64_t m : {1, 4, 5}) {
    for (int64_t n : {1, 16, 17}) {
      const Literal a = Literal::splat({DType::kF32, {m, 7}}, 1.0);
      const Literal b = Literal::splat({DType::kF32, {7, n}}, 1.0);
      const Literal c = apply(OpCode::kDotGeneral, {a, b}, matrix_product());
      EXPECT_EQ(doubles(c), Doubles(static_cast<size_t>(m * n), 7));
    }
  }
}

TEST(EvalContraction, NothingToSum) {
  EXPECT_EQ(
      doubles(apply(OpCode::kDotGeneral, {f32({2, 0}, {}), f32({0, 1}, {})}, matrix_product())),
      (Doubles{0, 0}));
}

TEST(EvalContraction, NarrowFloatsSumInFloat32) {
  // 256 + 1 + ... + 1 (eight times): in bf16 each 256 + 1 would round back to 256.
  std::vector<double> ones(9, 1.0);
  ones[0] = 256;
  const Literal a = numbers(DType::kBF16, ones).reshaped({1, 9});
  const Literal b = numbers(DType::kBF16, Doubles(9, 1.0)).reshaped({9, 1});
  EXPECT_EQ(doubles(apply(OpCode::kDotGeneral, {a, b}, matrix_product())), Doubles{264});
}

TEST(EvalContraction, ResultMayBeWider) {
  const Literal a = numbers(DType::kS8, {100, 100}).reshaped({1, 2});
  const Literal b = numbers(DType::kS8, {100, 100}).reshaped({2, 1});
  EXPECT_EQ(doubles(apply_to(OpCode::kDotGeneral, {a, b}, {DType::kS32, {1, 1}}, matrix_product())),
            Doubles{20000});
  const Literal c = numbers(DType::kBF16, {256, 1}).reshaped({1, 2});
  const Literal d = numbers(DType::kBF16, {1, 1}).reshaped({2, 1});
  EXPECT_EQ(doubles(apply_to(OpCode::kDotGeneral, {c, d}, {DType::kF32, {1, 1}}, matrix_product())),
            Doubles{257});
}

TEST(EvalContraction, BooleansAndComplexNumbers) {
  EXPECT_EQ(
      doubles(apply(OpCode::kDotGeneral, {boolean({1, 2}, {1, 1}), boolean({2, 2}, {1, 0, 1, 0})},
                    matrix_product())),
      (Doubles{1, 0}));
  const Literal i = Literal::of<float>({DType::kC64, {1, 1}}, {0, 1});
  EXPECT_EQ(doubles(apply(OpCode::kDotGeneral, {i, i}, matrix_product())), Doubles{-1});
}

TEST(EvalContraction, AlgorithmRoundsTheOperands) {
  const float x = 1.00390625f;  // 1 + 2^-8: 1 in bf16
  DotAttrs attrs = matrix_product();
  attrs.algorithm = DotAlgorithm{DType::kBF16, DType::kBF16, DType::kF32, 1, 1, 1, false};
  const Literal a = f32({1, 1}, {x}), one = f32({1, 1}, {1});
  EXPECT_EQ(doubles(apply(OpCode::kDotGeneral, {a, one}, attrs)), Doubles{1});
  // Split into components nothing is lost of a number with so few bits.
  attrs.algorithm->primitive_operations = 3;
  EXPECT_EQ(doubles(apply(OpCode::kDotGeneral, {a, one}, attrs)), Doubles{x});
  // Precision alone changes no value.
  attrs.algorithm.reset();
  attrs.precision = {Precision::kDefault, Precision::kDefault};
  EXPECT_EQ(doubles(apply(OpCode::kDotGeneral, {a, one}, attrs)), Doubles{x});
}

TEST(EvalContraction, AlgorithmAccumulatesInFloat64) {
  DotAttrs attrs = matrix_product();
  attrs.algorithm = DotAlgorithm{DType::kF32, DType::kF32, DType::kF64, 1, 1, 1, false};
  const Literal a = f32({1, 3}, {16777216, 1, 1}), ones = f32({3, 1}, {1, 1, 1});
  EXPECT_EQ(doubles(apply(OpCode::kDotGeneral, {a, ones}, attrs)), Doubles{16777218});
  EXPECT_EQ(doubles(apply(OpCode::kDotGeneral, {a, ones}, matrix_product())), Doubles{16777216});
}

}  // namespace
}  // namespace spmd::testing
