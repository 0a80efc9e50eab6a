#include "passes/analysis/flops.h"

#include "tests/passes/loops.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

TEST(Flops, ContractionsReductionsAndElementwiseOps) {
  EXPECT_EQ(flops(program({"tensor<3x4xf32>", "tensor<4x5xf32>"}, R"(
    %0 = stablehlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    %1 = stablehlo.tanh %0 : tensor<3x5xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x5xf32>, tensor<f32>) -> tensor<3xf32>
    %3 = stablehlo.reshape %2 : (tensor<3xf32>) -> tensor<1x3xf32>
    return %3 : tensor<1x3xf32>)")),
            2 * 3 * 4 * 5 + 15 + 15);
}

TEST(Flops, LoopsCountTheirTrips) {
  // Each trip: 7 for the product, 1 for the counter; the condition is evaluated once more.
  EXPECT_EQ(
      flops(program({"tensor<7xf32>"},
                    counted_loop(10, "%a = %x0", "tensor<7xf32>",
                                 "%a1 = stablehlo.multiply %a, %a : tensor<7xf32>", "%a1", 1) +
                        "return %loop#1 : tensor<7xf32>")),
      10 * (7 + 1) + 11);
}

TEST(Flops, BranchesCountAsTheDearest) {
  EXPECT_EQ(flops(program({"tensor<i1>", "tensor<8xf32>"}, R"(
    %0 = "stablehlo.if"(%x0) ({
      %1 = stablehlo.negate %x1 : tensor<8xf32>
      %2 = stablehlo.negate %1 : tensor<8xf32>
      stablehlo.return %2 : tensor<8xf32>
    }, {
      stablehlo.return %x1 : tensor<8xf32>
    }) : (tensor<i1>) -> tensor<8xf32>
    return %0 : tensor<8xf32>)")),
            16);
}

}  // namespace
}  // namespace spmd::testing
