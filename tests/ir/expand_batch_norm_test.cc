// batch_norm_*: the specification's examples, and values computed with NumPy.
#include "tests/ir/self_check.h"

namespace spmd::testing {
namespace {

TEST(ExpandBatchNorm, SpecificationExamples) {
  expect_checks_hold(R"(
    %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0, 2.0]]]> : tensor<2x2x2xf64>
    %one = stablehlo.constant dense<1.0> : tensor<2xf64>
    %mean = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf64>
    %g = stablehlo.constant dense<0.1> : tensor<2x2x2xf64>
    %0 = "stablehlo.batch_norm_inference"(%x, %one, %one, %mean, %one) <{epsilon = 0.0 : f32, feature_index = 2 : i64}> : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2x2x2xf64>
    check.expect_almost_eq_const %0, dense<[[[0.0, 0.0], [2.0, 2.0]], [[2.0, 2.0], [0.0, 0.0]]]> : tensor<2x2x2xf64>
    %1:3 = "stablehlo.batch_norm_training"(%x, %one, %one) {epsilon = 0.0 : f32, feature_index = 2 : i64} : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)
    check.expect_almost_eq_const %1#0, dense<[[[0.0, 0.0], [2.0, 2.0]], [[2.0, 2.0], [0.0, 0.0]]]> : tensor<2x2x2xf64>
    check.expect_eq_const %1#1, dense<[2.0, 3.0]> : tensor<2xf64>
    check.expect_eq_const %1#2, dense<[1.0, 1.0]> : tensor<2xf64>
    %2:3 = "stablehlo.batch_norm_grad"(%x, %one, %mean, %one, %g) <{epsilon = 0.0 : f32, feature_index = 2 : i64}> : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x2x2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)
    check.expect_almost_eq_const %2#0, dense<0.0> : tensor<2x2x2xf64>
    check.expect_almost_eq_const %2#1, dense<0.0> : tensor<2xf64>
    check.expect_almost_eq_const %2#2, dense<0.4> : tensor<2xf64>)");
}

TEST(ExpandBatchNorm, ScaleOffsetAndEpsilon) {
  expect_checks_hold(R"(
    %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 5.0], [4.0, -1.0]]> : tensor<3x2xf64>
    %scale = stablehlo.constant dense<[2.0, 0.5]> : tensor<2xf64>
    %offset = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf64>
    %mean = stablehlo.constant dense<[1.5, 1.0]> : tensor<2xf64>
    %var = stablehlo.constant dense<[0.25, 4.0]> : tensor<2xf64>
    %g = stablehlo.constant dense<[[0.1, 0.2], [-0.3, 0.4], [0.5, -0.6]]> : tensor<3x2xf64>
    %0 = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %var) <{epsilon = 1.0e-2 : f32, feature_index = 1 : i64}> : (tensor<3x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<3x2xf64>
    check.expect_almost_eq_const %0, dense<[[-9.611613514e-01, -7.503119153e-01], [6.883484054e+00, -1.247661122e-03], [1.080580676e+01, -1.499376169e+00]]> : tensor<3x2xf64>, tolerance = 1.0e-7
    %1:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) <{epsilon = 1.0e-2 : f32, feature_index = 1 : i64}> : (tensor<3x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<3x2xf64>, tensor<2xf64>, tensor<2xf64>)
    check.expect_almost_eq_const %1#0, dense<[[-1.664063077e+00, -1.0], [1.532812615e+00, -3.881372377e-01], [3.131250462e+00, -1.611862762e+00]]> : tensor<3x2xf64>, tolerance = 1.0e-7
    check.expect_almost_eq_const %1#2, dense<[1.555555556, 6.0]> : tensor<2xf64>, tolerance = 1.0e-8
    %2:3 = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %var, %g) <{epsilon = 1.0e-2 : f32, feature_index = 1 : i64}> : (tensor<3x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<3x2xf64>) -> (tensor<3x2xf64>, tensor<2xf64>, tensor<2xf64>)
    check.expect_almost_eq_const %2#0, dense<[[1.885732069e+00, -1.232873835e-02], [-7.226125287e+00, -1.491901873e-01], [-7.859731262e+00, -2.528014025e-02]]> : tensor<3x2xf64>, tolerance = 1.0e-7
    check.expect_almost_eq_const %2#1, dense<[1.470871014, 1.498128508]> : tensor<2xf64>, tolerance = 1.0e-8
    check.expect_almost_eq_const %2#2, dense<[0.3, 0.0]> : tensor<2xf64>, tolerance = 1.0e-8)");
}

TEST(ExpandBatchNorm, WrongShapesAreNamed) {
  EXPECT_EQ(error_of([] {
              parse(R"(func.func @main(%x: tensor<3x2xf32>, %s: tensor<3xf32>) -> tensor<3x2xf32> {
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %s) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<3x2xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %0#0 : tensor<3x2xf32>
})");
            }),
            "test.mlir:2: stablehlo.batch_norm_training: operand 1 is tensor<3xf32>, expected "
            "tensor<2xf32>");
}

}  // namespace
}  // namespace spmd::testing
