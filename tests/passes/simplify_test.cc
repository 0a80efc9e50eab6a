#include "passes/simplify.h"

#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

constexpr const char* kVector = "tensor<4xf32>";

TEST(Simplify, DropsIdentities) {
  expect_rewrite(simplify_pass(), program({kVector}, R"(
    %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
    %one = stablehlo.constant dense<1.0> : tensor<4xf32>
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<4xf32>
    %0 = stablehlo.add %x0, %zero : tensor<4xf32>
    %1 = stablehlo.multiply %one, %0 : tensor<4xf32>
    %2 = stablehlo.divide %1, %one : tensor<4xf32>
    %3 = stablehlo.subtract %2, %zero : tensor<4xf32>
    %4 = stablehlo.maximum %lowest, %3 : tensor<4xf32>
    %5 = stablehlo.negate %4 : tensor<4xf32>
    %6 = stablehlo.negate %5 : tensor<4xf32>
    return %6 : tensor<4xf32>)"),
                 "return %arg0 : tensor<4xf32>");
}

// As JAX writes reducers and comparators inside a partly manual shard_map.
TEST(Simplify, ConstraintsOfScalarsGo) {
  Module module = program(R"(module {
  sdy.mesh @mesh = <["a"=2]>
  func.func @main(%x0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> (tensor<6xf32>, tensor<4x6xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = "stablehlo.reduce"(%x0, %zero) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %2 = stablehlo.add %x, %y : tensor<f32>
      %3 = sdy.sharding_constraint %2 <@mesh, []> : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
    %1 = "stablehlo.sort"(%x0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %3 = sdy.sharding_constraint %x <@mesh, []> : tensor<f32>
      %2 = stablehlo.compare LT, %3, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %0, %1 : tensor<6xf32>, tensor<4x6xf32>
  }
})");
  EXPECT_TRUE(apply(simplify_pass(), module));
  EXPECT_EQ(body_of(module).find("sharding_constraint"), std::string::npos);
}

TEST(Simplify, SquareIsAProduct) {
  expect_rewrite(simplify_pass(), program({kVector}, R"(
    %0 = chlo.square %x0 : tensor<4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>)"),
                 R"(%0 = stablehlo.multiply %arg0, %arg0 : tensor<4xf32>
                    return %0 : tensor<4xf32>)");
}

TEST(Simplify, ConversionsCancelWhenExact) {
  expect_rewrite(simplify_pass(), program({"tensor<4xbf16>"}, R"(
    %0 = stablehlo.convert %x0 : (tensor<4xbf16>) -> tensor<4xf32>
    %1 = stablehlo.convert %0 : (tensor<4xf32>) -> tensor<4xbf16>
    return %1 : tensor<4xbf16>)"),
                 "return %arg0 : tensor<4xbf16>");
  expect_unchanged(simplify_pass(), program({kVector}, R"(
    %0 = stablehlo.convert %x0 : (tensor<4xf32>) -> tensor<4xbf16>
    %1 = stablehlo.convert %0 : (tensor<4xbf16>) -> tensor<4xf32>
    return %1 : tensor<4xf32>)"));
  // 300 becomes 127 by way of a float, 44 directly.
  expect_unchanged(simplify_pass(), program({"tensor<4xi32>"}, R"(
    %0 = stablehlo.convert %x0 : (tensor<4xi32>) -> tensor<4xf64>
    %1 = stablehlo.convert %0 : (tensor<4xf64>) -> tensor<4xi8>
    return %1 : tensor<4xi8>)"));
}

TEST(Simplify, ConversionsCancelAcrossMoves) {
  expect_rewrite(
      simplify_pass(), program({"tensor<2x3xbf16>"}, R"(
    %0 = stablehlo.convert %x0 : (tensor<2x3xbf16>) -> tensor<2x3xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %2 = stablehlo.reshape %1 : (tensor<3x2xf32>) -> tensor<3x1x2xf32>
    %3 = stablehlo.convert %2 : (tensor<3x1x2xf32>) -> tensor<3x1x2xbf16>
    return %3 : tensor<3x1x2xbf16>)"),
      R"(%0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
                    %1 = stablehlo.reshape %0 : (tensor<3x2xbf16>) -> tensor<3x1x2xbf16>
                    return %1 : tensor<3x1x2xbf16>)");
  // A narrower type on the way loses something.
  expect_unchanged(simplify_pass(), program({"tensor<2x3xf32>"}, R"(
    %0 = stablehlo.convert %x0 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
    %2 = stablehlo.convert %1 : (tensor<3x2xbf16>) -> tensor<3x2xf32>
    return %2 : tensor<3x2xf32>)"));
  // What is moved in the wider type for others too is moved once.
  expect_unchanged(simplify_pass(), program({"tensor<2x3xbf16>"}, R"(
    %0 = stablehlo.convert %x0 : (tensor<2x3xbf16>) -> tensor<2x3xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %2 = stablehlo.convert %1 : (tensor<3x2xf32>) -> tensor<3x2xbf16>
    return %1, %2 : tensor<3x2xf32>, tensor<3x2xbf16>)"));
}

TEST(Simplify, BooleansWithConstants) {
  expect_rewrite(simplify_pass(), program({"tensor<4xi1>", kVector, kVector}, R"(
    %true = stablehlo.constant dense<true> : tensor<4xi1>
    %false = stablehlo.constant dense<false> : tensor<4xi1>
    %0 = stablehlo.and %x0, %true : tensor<4xi1>
    %1 = stablehlo.or %0, %false : tensor<4xi1>
    %2 = stablehlo.compare EQ, %1, %true, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    %3 = stablehlo.or %2, %true : tensor<4xi1>
    %4 = stablehlo.select %3, %x1, %x2 : tensor<4xi1>, tensor<4xf32>
    %5 = stablehlo.select %2, %4, %x2 : tensor<4xi1>, tensor<4xf32>
    return %5 : tensor<4xf32>)"),
                 R"(%0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<4xi1>, tensor<4xf32>
                    return %0 : tensor<4xf32>)");
}

TEST(Simplify, BroadcastsCompose) {
  expect_rewrite(simplify_pass(), program({kVector}, R"(
    %0 = stablehlo.reshape %x0 : (tensor<4xf32>) -> tensor<1x1x4xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<1x1x4xf32>) -> tensor<2x3x4xf32>
    return %1 : tensor<2x3x4xf32>)"),
                 R"(
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<4xf32>) -> tensor<2x3x4xf32>
    return %0 : tensor<2x3x4xf32>)");
  expect_rewrite(simplify_pass(), program({kVector}, R"(
    %0 = stablehlo.broadcast_in_dim %x0, dims = [1] : (tensor<4xf32>) -> tensor<3x4x1xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [2, 1, 0] : (tensor<3x4x1xf32>) -> tensor<2x4x3xf32>
    %2 = stablehlo.reshape %1 : (tensor<2x4x3xf32>) -> tensor<2x1x4x3xf32>
    return %2 : tensor<2x1x4x3xf32>)"),
                 R"(
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<4xf32>) -> tensor<2x1x4x3xf32>
    return %0 : tensor<2x1x4x3xf32>)");
}

TEST(Simplify, ReshapesAndTransposesCancel) {
  expect_rewrite(simplify_pass(), program({"tensor<2x3x4xf32>"}, R"(
    %0 = stablehlo.transpose %x0, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
    %1 = stablehlo.transpose %0, dims = [1, 2, 0] : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
    %2 = stablehlo.reshape %1 : (tensor<2x3x4xf32>) -> tensor<24xf32>
    %3 = stablehlo.reshape %2 : (tensor<24xf32>) -> tensor<6x4xf32>
    return %3 : tensor<6x4xf32>)"),
                 R"(%0 = stablehlo.reshape %arg0 : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
                    return %0 : tensor<6x4xf32>)");
}

TEST(Simplify, SlicesOfSlicesAndConcatenations) {
  expect_rewrite(simplify_pass(), program({"tensor<20xf32>"}, R"(
    %0 = stablehlo.slice %x0 [2:20:3] : (tensor<20xf32>) -> tensor<6xf32>
    %1 = stablehlo.slice %0 [1:6:2] : (tensor<6xf32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>)"),
                 R"(%0 = stablehlo.slice %arg0 [5:18:6] : (tensor<20xf32>) -> tensor<3xf32>
                    return %0 : tensor<3xf32>)");
  expect_rewrite(simplify_pass(), program({kVector, kVector}, R"(
    %0 = stablehlo.concatenate %x0, %x1, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    %1 = stablehlo.slice %0 [5:7] : (tensor<8xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>)"),
                 R"(%0 = stablehlo.slice %arg1 [1:3] : (tensor<4xf32>) -> tensor<2xf32>
                    return %0 : tensor<2xf32>)");
}

TEST(Simplify, DisjointPadsAreAConcatenation) {
  expect_rewrite(simplify_pass(), program({"tensor<2xf32>", "tensor<3xf32>", "tensor<2xf32>"}, R"(
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %x0, %zero, low = [5], high = [0], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<7xf32>
    %1 = stablehlo.pad %x1, %zero, low = [2], high = [2], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
    %2 = stablehlo.pad %x2, %zero, low = [0], high = [5], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<7xf32>
    %3 = stablehlo.add %0, %1 : tensor<7xf32>
    %4 = stablehlo.add %3, %2 : tensor<7xf32>
    return %4 : tensor<7xf32>)"),
                 R"(
    %0 = stablehlo.concatenate %arg2, %arg1, %arg0, dim = 0 : (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<7xf32>
    return %0 : tensor<7xf32>)");
}

TEST(Simplify, OverlappingPadsStay) {
  expect_unchanged(simplify_pass(), program({"tensor<4xf32>", "tensor<4xf32>"}, R"(
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %x0, %zero, low = [3], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
    %1 = stablehlo.pad %x1, %zero, low = [0], high = [3], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
    %2 = stablehlo.add %0, %1 : tensor<7xf32>
    return %2 : tensor<7xf32>)"));
}

TEST(Simplify, ReductionsOfSingleElements) {
  expect_rewrite(simplify_pass(), program({kVector}, R"(
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x0 init: %zero) applies stablehlo.add across dimensions = [] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.reshape %0 : (tensor<4xf32>) -> tensor<1x1x4xf32>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>)"),
                 "return %arg0 : tensor<4xf32>");
  expect_rewrite(simplify_pass(), program({kVector, "tensor<f32>"}, R"(
    %0 = stablehlo.reduce(%x0 init: %x1) applies stablehlo.maximum across dimensions = [] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>)"),
                 R"(
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.maximum %0, %arg0 : tensor<4xf32>
    return %1 : tensor<4xf32>)");
}

TEST(Simplify, FoldsSplatsOfAnySize) {
  expect_rewrite(simplify_pass(), program({"tensor<2000x20xf32>"}, R"(
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<f32>) -> tensor<2000x20xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<2000x20xf32>
    %2 = stablehlo.transpose %1, dims = [0, 1] : (tensor<2000x20xf32>) -> tensor<2000x20xf32>
    %3 = stablehlo.multiply %2, %x0 : tensor<2000x20xf32>
    return %3 : tensor<2000x20xf32>)"),
                 R"(
    %0 = stablehlo.constant dense<4.000000e+00> : tensor<2000x20xf32>
    %1 = stablehlo.multiply %0, %arg0 : tensor<2000x20xf32>
    return %1 : tensor<2000x20xf32>)");
}

TEST(Simplify, FoldsSmallConstants) {
  expect_rewrite(simplify_pass(), program(std::vector<std::string>{}, R"(
    %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
    %b = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
    %0 = stablehlo.add %a, %b : tensor<3xi32>
    return %0 : tensor<3xi32>)"),
                 R"(%0 = stablehlo.constant dense<[11, 22, 33]> : tensor<3xi32>
                    return %0 : tensor<3xi32>)");
}

TEST(Simplify, DynamicSlicesAtConstantsAreClamped) {
  expect_rewrite(simplify_pass(), program({"tensor<8xf32>"}, R"(
    %at = stablehlo.constant dense<7> : tensor<i32>
    %0 = stablehlo.dynamic_slice %x0, %at, sizes = [3] : (tensor<8xf32>, tensor<i32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>)"),
                 R"(%0 = stablehlo.slice %arg0 [5:8] : (tensor<8xf32>) -> tensor<3xf32>
                    return %0 : tensor<3xf32>)");
}

TEST(Simplify, BranchesOnConstants) {
  expect_rewrite(simplify_pass(), program({kVector}, R"(
    %c = stablehlo.constant dense<true> : tensor<i1>
    %0 = "stablehlo.if"(%c) ({
      %1 = stablehlo.negate %x0 : tensor<4xf32>
      stablehlo.return %1 : tensor<4xf32>
    }, {
      stablehlo.return %x0 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %0 : tensor<4xf32>)"),
                 R"(%0 = stablehlo.negate %arg0 : tensor<4xf32>
                    return %0 : tensor<4xf32>)");
}

TEST(Simplify, KeepsShardingAnnotations) {
  Module module = program(R"(module @test {
    sdy.mesh @mesh = <["x"=2]>
    func.func public @main(%x0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> tensor<4xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
      %0 = stablehlo.add %x0, %zero {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  })");
  apply(simplify_pass(), module);
  EXPECT_EQ(count_ops(module, OpCode::kAdd), 1);
}

TEST(Simplify, ReducesInTheTypeOfTheReducer) {
  expect_rewrite(simplify_pass(), program({"tensor<4xbf16>", "tensor<bf16>"}, R"(
    %0 = stablehlo.reduce(%x0 init: %x1) applies stablehlo.add across dimensions = [0] : (tensor<4xbf16>, tensor<bf16>) -> tensor<f32>
    return %0 : tensor<f32>)"),
                 R"(%0 = stablehlo.convert %arg0 : (tensor<4xbf16>) -> tensor<4xf32>
                    %1 = stablehlo.convert %arg1 : (tensor<bf16>) -> tensor<f32>
                    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
                    return %2 : tensor<f32>)");
}

TEST(Simplify, IndicesHaveRoomAndASign) {
  expect_rewrite(simplify_pass(), program({kVector, "tensor<i8>"}, R"(
    %0 = stablehlo.dynamic_slice %x0, %x1, sizes = [2] : (tensor<4xf32>, tensor<i8>) -> tensor<2xf32>
    return %0 : tensor<2xf32>)"),
                 R"(%0 = stablehlo.convert %arg1 : (tensor<i8>) -> tensor<i32>
                    %1 = stablehlo.dynamic_slice %arg0, %0, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
                    return %1 : tensor<2xf32>)");
  expect_rewrite(simplify_pass(), program({kVector, "tensor<ui32>"}, R"(
    %0 = stablehlo.dynamic_slice %x0, %x1, sizes = [2] : (tensor<4xf32>, tensor<ui32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>)"),
                 R"(%0 = stablehlo.constant dense<2147483647> : tensor<ui32>
                    %1 = stablehlo.minimum %arg1, %0 : tensor<ui32>
                    %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
                    %3 = stablehlo.dynamic_slice %arg0, %2, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
                    return %3 : tensor<2xf32>)");
}

}  // namespace
}  // namespace spmd::testing
