// What partitioning sends for transforms, matrices, barriers and groups: nothing where nothing is
// needed.
#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Lines = std::vector<std::string>;

Lines sent(const Module& module) { return sends_of(partitioned_to("localize", module)); }

TEST(PartitionLinalg, BatchesOfTransformsSendNothing) {
  EXPECT_EQ(sent(sharded_program("\"x\"=2, \"y\"=2", R"((
      %z: tensor<4x6x8xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>})
      -> tensor<4x6x8xcomplex<f32>> {
    %0 = stablehlo.fft %z, type = FFT, length = [8] : (tensor<4x6x8xcomplex<f32>>) -> tensor<4x6x8xcomplex<f32>>
    %1 = stablehlo.fft %0, type = IFFT, length = [8] : (tensor<4x6x8xcomplex<f32>>) -> tensor<4x6x8xcomplex<f32>>
    return %1 : tensor<4x6x8xcomplex<f32>>
  })")),
            Lines{});
}

// The transformed dimension is gathered: (2 - 1) / 2 of 4 x 8 complex numbers of 8 bytes.
TEST(PartitionLinalg, ATransformedDimensionIsGathered) {
  EXPECT_EQ(sent(sharded_program("\"x\"=2", R"((
      %z: tensor<4x8xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
      -> tensor<4x8xcomplex<f32>> {
    %0 = stablehlo.fft %z, type = FFT, length = [4, 8] : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    return %0 : tensor<4x8xcomplex<f32>>
  })")),
            Lines{"all_gather x 1 128"});
}

TEST(PartitionLinalg, BatchesAndColumnsOfSolvesSendNothing) {
  EXPECT_EQ(sent(sharded_program("\"x\"=2, \"y\"=2", R"((
      %a: tensor<4x3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
      %b: tensor<4x3x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>})
      -> (tensor<4x3x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}) {
    %0 = stablehlo.cholesky %a, lower = true : tensor<4x3x3xf32>
    %1 = "stablehlo.triangular_solve"(%0, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x3x3xf32>, tensor<4x3x6xf32>) -> tensor<4x3x6xf32>
    return %1 : tensor<4x3x6xf32>
  })")),
            Lines{});
}

}  // namespace
}  // namespace spmd::testing
