#include "passes/defer_reductions.h"

#include "tests/passes/loops.h"
#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Lines = std::vector<std::string>;

// main() with two matrices whose product is partial: %p.
Module with_product(const std::string& results, const std::string& rest) {
  return sharded_program("\"x\"=2", R"((
      %a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
      %b: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
      %c: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> )" +
                                        results + R"( {
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    )" + rest + "\n}");
}

Lines deferred(const Module& module) {
  const Module after = partitioned_to("defer_reductions", module);
  expect_same_values(module, after);
  return reshards_of(after);
}

TEST(DeferReductions, ReducesAfterASlice) {
  EXPECT_EQ(deferred(with_product("tensor<2x4xf32>", R"(
    %0 = stablehlo.slice %p [2:4, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>)")),
            Lines{R"(tensor<2x4xf32> [{}, {}], unreduced={"x"} -> [{}, {}])"});
}

TEST(DeferReductions, ReducesASumOnce) {
  EXPECT_EQ(deferred(with_product("tensor<8x4xf32>", R"(
    %q = stablehlo.dot_general %c, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    %0 = stablehlo.add %p, %q : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>)")),
            Lines{R"(tensor<8x4xf32> [{}, {}], unreduced={"x"} -> [{}, {}])"});
}

TEST(DeferReductions, ReducesWhereAnOpIsNotLinear) {
  EXPECT_EQ(deferred(with_product("tensor<2x4xf32>", R"(
    %0 = stablehlo.abs %p : tensor<8x4xf32>
    %1 = stablehlo.slice %0 [2:4, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    return %1 : tensor<2x4xf32>)")),
            Lines{R"(tensor<8x4xf32> [{}, {}], unreduced={"x"} -> [{}, {}])"});
}

TEST(DeferReductions, AValueWithTwoUsersIsReducedForBoth) {
  EXPECT_EQ(deferred(with_product("(tensor<2x4xf32>, tensor<8x4xf32>)", R"(
    %0 = stablehlo.slice %p [2:4, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    return %0, %p : tensor<2x4xf32>, tensor<8x4xf32>)")),
            Lines{R"(tensor<8x4xf32> [{}, {}], unreduced={"x"} -> [{}, {}])"});
}

TEST(DeferReductions, ALoopThatAccumulatesIsReducedOnceAfterIt) {
  const Module module = with_product("tensor<8x4xf32>", R"(
    %zero = stablehlo.constant dense<0.0> : tensor<8x4xf32>
    %first = stablehlo.constant dense<0> : tensor<i32>
    %0:3 = stablehlo.while(%i = %first, %s = %zero, %d = %c) : tensor<i32>, tensor<8x4xf32>, tensor<8x16xf32>
    cond {
      %n = stablehlo.constant dense<5> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %i, %one : tensor<i32>
      %3 = stablehlo.dot_general %d, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
      %4 = stablehlo.add %s, %3 : tensor<8x4xf32>
      %5 = stablehlo.negate %d : tensor<8x16xf32>
      stablehlo.return %2, %4, %5 : tensor<i32>, tensor<8x4xf32>, tensor<8x16xf32>
    }
    return %0#1 : tensor<8x4xf32>)");
  const Lines reshards = deferred(module);
  ASSERT_FALSE(reshards.empty());
  EXPECT_EQ(reshards.back(), R"(tensor<8x4xf32> [{}, {}], unreduced={"x"} -> [{}, {}])");
  // One all-reduce of 8x4 floats per step: half of them to the other rank, twice.
  EXPECT_EQ(sends_of(partitioned_to("localize", module)), Lines{"all_reduce x 1 128"});
}

}  // namespace
}  // namespace spmd::testing
