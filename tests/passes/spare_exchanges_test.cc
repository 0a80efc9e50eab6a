#include "passes/spare_exchanges.h"

#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Lines = std::vector<std::string>;

Lines spared(const std::string& main) {
  const Module module = sharded_program("\"x\"=4", main);
  const Module after = partitioned_to("spare_exchanges", module);
  expect_same_values(module, after);
  return reshards_of(after);
}

// A cumulative sum of `rows` rows of 16, of which every device needs something, and one its block.
std::string scan_of(const std::string& rows, const std::string& before) {
  const std::string type = "tensor<" + rows + "x16xi32>";
  return R"((%a: )" + type + R"( {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      ()" +
         type + R"( {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, )" + type +
         R"( {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %0 = "stablehlo.reduce_window"(%a, %z) <{padding = dense<[[)" +
         before + R"(, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: )" + rows +
         R"(, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%p: tensor<i32>, %q: tensor<i32>):
      %s = stablehlo.add %p, %q : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : ()" +
         type + ", tensor<i32>) -> " + type + R"(
    %1 = stablehlo.multiply %0, %a : )" +
         type + R"(
    %2 = stablehlo.negate %1 : )" +
         type + R"(
    return %1, %2 : )" +
         type + ", " + type + R"(
  })";
}

TEST(SpareExchanges, WhatAllNeedIsComputedFromWhatIsGathered) {
  // Small: the exchange of the scan costs more than doing all of it everywhere.
  const Lines reshards = spared(scan_of("8", "7"));
  ASSERT_FALSE(reshards.empty());
  EXPECT_EQ(reshards[0], R"(tensor<8x16xi32> [{"x"}, {}] -> [{}, {}])");
  for (const std::string& reshard : reshards) {
    EXPECT_EQ(reshard.substr(0, 16), "tensor<8x16xi32>");
  }
}

TEST(SpareExchanges, MuchWorkStaysShared) {
  EXPECT_EQ(spared(scan_of("512", "511")), Lines{R"(tensor<512x16xi32> [{"x"}, {}] -> [{}, {}])"});
}

}  // namespace
}  // namespace spmd::testing
