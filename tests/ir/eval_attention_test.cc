// attention and attention_backward: values computed from the definition in double precision by
// other means, and a softmax that must not overflow.
#include "tests/ir/self_check.h"

namespace spmd::testing {
namespace {

// Two queries of a group of two, of one head; two keys; values of three numbers.
constexpr char kOperands[] = R"(
    %q = stablehlo.constant dense<[[[[[1.0, 2.0], [-1.0, 0.5]]], [[[0.0, 1.0], [3.0, -2.0]]]]]> : tensor<1x2x1x2x2xf64>
    %k = stablehlo.constant dense<[[[[1.0, 0.0]], [[2.0, -1.0]]]]> : tensor<1x2x1x2xf64>
    %v = stablehlo.constant dense<[[[[1.0, -2.0, 4.0]], [[3.0, 0.5, -1.0]]]]> : tensor<1x2x1x3xf64>
    %d = stablehlo.constant dense<[[[[[1.0, 0.0, 2.0], [-1.0, 1.0, 0.5]]], [[[2.0, -1.0, 0.0], [1.0, 1.0, -3.0]]]]]> : tensor<1x2x1x2x3xf64>
)";

std::string both_passes(const std::string& causal) {
  return kOperands + std::string(R"(
    %o:2 = "spmd.attention"(%q, %k, %v) <{causal = )") +
         causal +
         R"(, scale = 0.5 : f64}> : (tensor<1x2x1x2x2xf64>, tensor<1x2x1x2xf64>, tensor<1x2x1x3xf64>) -> (tensor<1x2x1x2x3xf64>, tensor<1x1x2x2xf64>)
    %g:3 = "spmd.attention_backward"(%q, %k, %v, %o#0, %o#1, %d) <{causal = )" +
         causal +
         R"(, scale = 0.5 : f64}> : (tensor<1x2x1x2x2xf64>, tensor<1x2x1x2xf64>, tensor<1x2x1x3xf64>, tensor<1x2x1x2x3xf64>, tensor<1x1x2x2xf64>, tensor<1x2x1x2x3xf64>) -> (tensor<1x2x1x2x2xf64>, tensor<1x2x1x2xf64>, tensor<1x2x1x3xf64>)
)";
}

TEST(EvalAttention, EveryQuerySeesEveryKey) {
  expect_checks_hold(both_passes("false") + R"(
    check.expect_almost_eq_const %o#0, dense<[[[[[1.755081338, -1.056148328, 2.112296656], [1.641642602, -1.197946748, 2.395893496]]], [[[1.755081338, -1.056148328, 2.112296656], [2.848283640, 0.310354550, -0.620709100]]]]]> : tensor<1x2x1x2x3xf64>, tolerance = 1.0e-8
    check.expect_almost_eq_const %o#1, dense<[[[[0.974076984, 0.474076984], [-0.113128994, 4.078889734]]]]> : tensor<1x1x2x2xf64>, tolerance = 1.0e-8
    check.expect_almost_eq_const %g#0, dense<[[[[[-0.940014849, 0.940014849], [-0.217894994, 0.217894994]]], [[[0.176252784, -0.176252784], [0.683511236, -0.683511236]]]]]> : tensor<1x2x1x2x2xf64>, tolerance = 1.0e-8
    check.expect_almost_eq_const %g#1, dense<[[[[-1.328413854, 3.179746883]], [[1.328413854, -3.179746883]]]]> : tensor<1x2x1x2xf64>, tolerance = 1.0e-8
    check.expect_almost_eq_const %g#2, dense<[[[[1.264057474, 0.132577548, 1.356933472]], [[1.735942526, 0.867422452, -1.856933472]]]]> : tensor<1x2x1x3xf64>, tolerance = 1.0e-8)");
}

TEST(EvalAttention, AQuerySeesNoLaterKeys) {
  expect_checks_hold(both_passes("true") + R"(
    check.expect_almost_eq_const %o#0, dense<[[[[[1.0, -2.0, 4.0], [1.0, -2.0, 4.0]]], [[[1.755081338, -1.056148328, 2.112296656], [2.848283640, 0.310354550, -0.620709100]]]]]> : tensor<1x2x1x2x3xf64>, tolerance = 1.0e-8
    check.expect_almost_eq_const %o#1, dense<[[[[0.5, 0.474076984], [-0.5, 4.078889734]]]]> : tensor<1x1x2x2xf64>, tolerance = 1.0e-8
    check.expect_almost_eq_const %g#0, dense<[[[[[0.0, 0.0], [0.0, 0.0]]], [[[0.176252784, -0.176252784], [0.683511236, -0.683511236]]]]]> : tensor<1x2x1x2x2xf64>, tolerance = 1.0e-8
    check.expect_almost_eq_const %g#1, dense<[[[[-2.050533709, 1.190769688]], [[2.050533709, -1.190769688]]]]> : tensor<1x2x1x2xf64>, tolerance = 1.0e-8
    check.expect_almost_eq_const %g#2, dense<[[[[1.320776842, 0.453398849, 2.272425460]], [[1.679223158, 0.546601151, -2.772425460]]]]> : tensor<1x2x1x3xf64>, tolerance = 1.0e-8)");
}

// Exponentials of scores of 1000 are infinite in float32. Probabilities of 3/4 and 1/4 are exact in
// bfloat16, and so is 0.75 * 4 + 0.25 * 8.
TEST(EvalAttention, LargeScoresAndNarrowTypes) {
  expect_checks_hold(R"(
    %q = stablehlo.constant dense<1.0> : tensor<1x1x1x1x1xf32>
    %k = stablehlo.constant dense<[[[[1000.0]], [[1000.0]]]]> : tensor<1x2x1x1xf32>
    %v = stablehlo.constant dense<[[[[2.0]], [[4.0]]]]> : tensor<1x2x1x1xf32>
    %o:2 = "spmd.attention"(%q, %k, %v) <{causal = false, scale = 1.0 : f64}> : (tensor<1x1x1x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) -> (tensor<1x1x1x1x1xf32>, tensor<1x1x1x1xf32>)
    check.expect_eq_const %o#0, dense<3.0> : tensor<1x1x1x1x1xf32>
    check.expect_almost_eq_const %o#1, dense<1000.693147> : tensor<1x1x1x1xf32>, tolerance = 1.0e-3
    %qb = stablehlo.constant dense<1.0> : tensor<1x1x1x1x1xbf16>
    %kb = stablehlo.constant dense<[[[[0.0]], [[0.0]], [[0.0]], [[0.0]]]]> : tensor<1x4x1x1xbf16>
    %vb = stablehlo.constant dense<[[[[4.0]], [[4.0]], [[4.0]], [[8.0]]]]> : tensor<1x4x1x1xbf16>
    %ob:2 = "spmd.attention"(%qb, %kb, %vb) <{causal = false, scale = 1.0 : f64}> : (tensor<1x1x1x1x1xbf16>, tensor<1x4x1x1xbf16>, tensor<1x4x1x1xbf16>) -> (tensor<1x1x1x1x1xbf16>, tensor<1x1x1x1xf32>)
    check.expect_eq_const %ob#0, dense<5.0> : tensor<1x1x1x1x1xbf16>)");
}

}  // namespace
}  // namespace spmd::testing
