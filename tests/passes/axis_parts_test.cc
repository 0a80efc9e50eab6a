// Parts of mesh axes in the order that the program cuts them: an axis of 6 as 3 times 2.
#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Sends = std::vector<std::string>;

// Rows are on the major part, columns on the minor one: every device has its block of the product.
TEST(AxisParts, TwoPartsOfAnAxisShardTwoDimensions) {
  EXPECT_EQ(sent_by("\"x\"=6", R"((
      %a: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)3}, {}]>},
      %b: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x":(3)2}]>}) ->
      (tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)3}, {"x":(3)2}]>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    return %0 : tensor<6x6xf32>
  })"),
            Sends{});
}

// Three blocks of 2 x 4 floats: two of three are fetched, 2/3 of 96 bytes.
TEST(AxisParts, APartIsGatheredAlone) {
  EXPECT_EQ(sent_by("\"x\"=6", R"((
      %a: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)3}, {}]>}) ->
      (tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.negate %a : tensor<6x4xf32>
    return %0 : tensor<6x4xf32>
  })"),
            (Sends{"all_gather x:(1)3 1 64"}));
}

// The sum over the rows is one of partial sums over the part: 4/3 of 36 bytes.
TEST(AxisParts, APartIsReducedAlone) {
  EXPECT_EQ(sent_by("\"x\"=6", R"((
      %a: tensor<6x18xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)3}, {"x":(3)2}]>}) ->
      (tensor<18xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(3)2}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<6x18xf32>, tensor<f32>) -> tensor<18xf32>
    return %0 : tensor<18xf32>
  })",
                    1e-6),
            (Sends{"all_reduce x:(1)3 1 48"}));
}

}  // namespace
}  // namespace spmd::testing
