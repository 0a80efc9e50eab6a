#include "passes/hoist_reshards.h"

#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Lines = std::vector<std::string>;

Lines hoisted(const Module& module) {
  const Module after = partitioned_to("hoist_reshards", module);
  expect_same_values(module, after);
  return reshards_of(after);
}

TEST(HoistReshards, SendsWhatABroadcastSpreads) {
  EXPECT_EQ(hoisted(sharded_program("\"x\"=2", R"((
      %a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) ->
      (tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<8xf32>) -> tensor<8x64xf32>
    return %0 : tensor<8x64xf32>
  })")),
            Lines{R"(tensor<8xf32> [{"x"}] -> [{}])"});
}

TEST(HoistReshards, SendsTheNarrowType) {
  EXPECT_EQ(hoisted(sharded_program("\"x\"=2", R"((
      %a: tensor<64xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) ->
      (tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.convert %a : (tensor<64xbf16>) -> tensor<64xf32>
    return %0 : tensor<64xf32>
  })")),
            Lines{R"(tensor<64xbf16> [{"x"}] -> [{}])"});
}

TEST(HoistReshards, LeavesADearOperandWhereItIs) {
  EXPECT_EQ(hoisted(sharded_program("\"x\"=2", R"((
      %a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) ->
      (tensor<64xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.convert %a : (tensor<64xf32>) -> tensor<64xbf16>
    return %0 : tensor<64xbf16>
  })")),
            Lines{R"(tensor<64xbf16> [{"x"}] -> [{}])"});
}

}  // namespace
}  // namespace spmd::testing
