#include "passes/localize.h"

#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Lines = std::vector<std::string>;

Module localized(const Module& module) {
  Module after = partitioned_to("localize", module);
  expect_same_values(module, after);
  return after;
}

TEST(Localize, TypesAreThoseOfOneRankAndGlobalShapesAreKept) {
  const Module after = localized(sharded_program("\"x\"=2, \"y\"=2", R"((
      %a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x6xf32> {
    %0 = stablehlo.negate %a : tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  })"));
  const Function& main = after.main();
  EXPECT_EQ(main.type(main.arguments()[0]).shape, (Dims{4, 3}));
  EXPECT_EQ(main.argument_info[0].global_shape, (Dims{8, 6}));
  EXPECT_EQ(sends_of(after), Lines{});
}

TEST(Localize, IotaStartsAtTheRanksBlock) {
  const Module after = localized(sharded_program("\"x\"=2", R"((
      %a: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xi32> {
    %0 = stablehlo.iota dim = 0 : tensor<8xi32>
    %1 = stablehlo.add %a, %0 : tensor<8xi32>
    return %1 : tensor<8xi32>
  })"));
  EXPECT_EQ(count_ops(after, OpCode::kAxisIndex), 1);
  EXPECT_EQ(sends_of(after), Lines{});
}

TEST(Localize, AShardedTableIsReadWhereItIs) {
  // Each rank serves the indices of its rows: the rows found are summed, the table is not sent.
  const Module after = localized(sharded_program("\"x\"=2", R"((
      %t: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<2x1xi32>) ->
      (tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<16x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  })"));
  EXPECT_EQ(sends_of(after), Lines{"all_reduce x 1 32"});
}

TEST(Localize, AReshardOfOneDimensionToAnotherIsAnAllToAll) {
  const Module after = localized(sharded_program("\"x\"=2", R"((
      %a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.negate %a : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  })"));
  EXPECT_EQ(sends_of(after), Lines{"all_to_all x 1 32"});
}

}  // namespace
}  // namespace spmd::testing
