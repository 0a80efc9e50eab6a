// Manual computations on which partitioning was once wrong, as small as they get.
#include "gtest/gtest.h"
#include "tests/differential/same_meaning.h"

namespace spmd::testing {
namespace {

// Around a manual computation, shards that do not divide a dimension are padded; in it, nothing is.
TEST(ManualRegressions, OperandThatIsPaddedElsewhere) {
  expect_same_meaning(
      R"("x"=2, "y"=3, "z"=2)",
      R"((%arg0: tensor<9x24xi32>, %arg1: tensor<i32>) -> (tensor<6x36xi32>, tensor<9x23xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"y"}, {"x", "z"}]>] out_shardings=[<@mesh, [{"z"}, {"x", "y"}]>] manual_axes={"y", "x", "z"} (%arg2: tensor<3x6xi32>) {
      sdy.return %arg2 : tensor<3x6xi32>
    } : (tensor<9x24xi32>) -> tensor<6x36xi32>
    %1 = stablehlo.pad %arg0, %arg1, low = [0, -1], high = [0, 0], interior = [0, 0] : (tensor<9x24xi32>, tensor<i32>) -> tensor<9x23xi32>
    return %0, %1 : tensor<6x36xi32>, tensor<9x23xi32>
  })");
}

TEST(ManualRegressions, OperandOfOneColumnAShardBesideAnUnevenSum) {
  expect_same_meaning(
      R"("x"=2, "y"=2)",
      R"((%arg0: tensor<1x2xf32>, %arg1: tensor<f32>) -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}, tensor<2x1xf32>) {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [0] : (tensor<1x2xf32>, tensor<f32>) -> tensor<2xf32>
    %1 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{"y"}, {}]>] manual_axes={"y"} (%arg2: tensor<1x1xf32>) {
      sdy.return %arg2 : tensor<1x1xf32>
    } : (tensor<1x2xf32>) -> tensor<2x1xf32>
    return %0, %1 : tensor<2xf32>, tensor<2x1xf32>
  })");
}

// Axes that are not the computation's own place its operands, also where they do not divide them.
TEST(ManualRegressions, FreeAxisThatDoesNotDivide) {
  expect_same_meaning(R"("x"=2, "y"=1)",
                      R"((%arg0: tensor<i1>, %arg1: tensor<1x1xi32>) -> (tensor<1x1xi32>) {
    %0 = sdy.manual_computation(%arg1, %arg0) in_shardings=[<@mesh, [{}, {"x"}]>, <@mesh, []>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"y"} (%arg2: tensor<1x1xi32>, %arg3: tensor<i1>) {
      %1 = stablehlo.select %arg3, %arg2, %arg2 : tensor<i1>, tensor<1x1xi32>
      sdy.return %1 : tensor<1x1xi32>
    } : (tensor<1x1xi32>, tensor<i1>) -> tensor<1x1xi32>
    return %0 : tensor<1x1xi32>
  })");
  expect_same_meaning(R"("x"=1, "y"=2)",
                      R"((%arg0: tensor<1xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<1xf32>) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"y"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg1: tensor<1xf32>) {
      sdy.return %arg1 : tensor<1xf32>
    } : (tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  })");
}

TEST(ManualRegressions, CollectiveOverManualAxesOfAnOperandCutByOthers) {
  expect_same_meaning(R"("x"=2, "y"=4)",
                      R"((%arg0: tensor<f32>, %arg1: tensor<1x4xf32>) -> (tensor<f32>) {
    %0 = sdy.manual_computation(%arg1, %arg0) in_shardings=[<@mesh, [{}, {"y", "x"}]>, <@mesh, []>] out_shardings=[<@mesh, []>] manual_axes={"y"} (%arg2: tensor<1x1xf32>, %arg3: tensor<f32>) {
      %1:2 = "stablehlo.all_reduce"(%arg2, %arg3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %2 = stablehlo.maximum %arg4, %arg5 : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<1x1xf32>, tensor<f32>) -> (tensor<1x1xf32>, tensor<f32>)
      sdy.return %1#1 : tensor<f32>
    } : (tensor<1x4xf32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  })");
}

TEST(ManualRegressions, NestedInOneWhoseOperandIsCutByTheInnerAxis) {
  expect_same_meaning(R"("x"=2, "y"=1)", R"((%arg0: tensor<1xf32>) -> (tensor<4xf32>) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"y"} (%arg1: tensor<1xf32>) {
      %1 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg2: tensor<1xf32>) {
        %2 = "stablehlo.all_gather"(%arg2) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<1xf32>) -> tensor<2xf32>
        sdy.return %2 : tensor<2xf32>
      } : (tensor<1xf32>) -> tensor<4xf32>
      sdy.return %1 : tensor<4xf32>
    } : (tensor<1xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  })");
}

// Inside, dimensions that other axes cut are padded as everywhere.
TEST(ManualRegressions, UnevenConstraintInside) {
  expect_same_meaning(R"("x"=3, "y"=2, "z"=1)",
                      R"((%arg0: tensor<3x13xf32>) -> (tensor<3x6xf32>) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {"z"}]>] out_shardings=[<@mesh, [{}, {"x", "z"}]>] manual_axes={"z", "x"} (%arg1: tensor<3x13xf32>) {
      %1 = stablehlo.slice %arg1 [0:3, 6:8] : (tensor<3x13xf32>) -> tensor<3x2xf32>
      %2 = sdy.sharding_constraint %1 <@mesh, [{"y"}, {}]> : tensor<3x2xf32>
      sdy.return %2 : tensor<3x2xf32>
    } : (tensor<3x13xf32>) -> tensor<3x6xf32>
    return %0 : tensor<3x6xf32>
  })");
}

// A partition id is the device's number, not its position in the mesh.
TEST(ManualRegressions, PartitionIdsOfDevicesInAnotherOrder) {
  expect_same_meaning(R"(module @test {
  sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[0, 3, 7, 1, 2, 4, 5, 6]>
  func.func public @main() -> (tensor<8xi32>) {
    %0 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} () {
      %1 = stablehlo.partition_id : tensor<ui32>
      %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
      %3 = stablehlo.reshape %2 : (tensor<i32>) -> tensor<1xi32>
      sdy.return %3 : tensor<1xi32>
    } : () -> tensor<8xi32>
    return %0 : tensor<8xi32>
  }
})");
}

// A value is not replicated along the axes of the computation that it is in: no reshard cuts it
// over them on its way, however cheap that is.
TEST(ManualRegressions, ReshardLeavesManualAxesAlone) {
  expect_same_meaning(Links::kWithoutLatency, R"(module @test {
  sdy.mesh @mesh = <["x"=3, "y"=2, "z"=2]>
  func.func public @main(%arg0: tensor<2x4x12xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<-3.0> : tensor<f32>
    %1 = sdy.sharding_constraint %arg0 <@mesh, [{"y"}, {"x"}, {"z"}]> : tensor<2x4x12xf32>
    %2 = stablehlo.reduce(%1 init: %0) applies stablehlo.maximum across dimensions = [0] : (tensor<2x4x12xf32>, tensor<f32>) -> tensor<4x12xf32>
    %3 = sdy.manual_computation(%2) in_shardings=[<@mesh, [{"y"}, {"z"}]>] out_shardings=[<@mesh, [{"y"}]>] manual_axes={"y"} (%arg1: tensor<2x12xf32>) {
      %4 = sdy.sharding_constraint %arg1 <@mesh, [{"z"}, {"x"}]> : tensor<2x12xf32>
      %5 = stablehlo.constant dense<4.0> : tensor<f32>
      %6 = stablehlo.reduce(%4 init: %5) applies stablehlo.minimum across dimensions = [1] : (tensor<2x12xf32>, tensor<f32>) -> tensor<2xf32>
      sdy.return %6 : tensor<2xf32>
    } : (tensor<4x12xf32>) -> tensor<4xf32>
    return %3 : tensor<4xf32>
  }
})");
}

}  // namespace
}  // namespace spmd::testing
