#include "passes/insert_reshards.h"

#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Lines = std::vector<std::string>;

Lines inserted(const Module& module) {
  const Module after = partitioned_to("insert_reshards", module);
  expect_same_values(module, after);
  return reshards_of(after);
}

TEST(InsertReshards, NothingWherePlacementsAgree) {
  EXPECT_EQ(inserted(sharded_program("\"x\"=2", R"((
      %a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
    %0 = stablehlo.negate %a : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  })")),
            Lines{});
}

TEST(InsertReshards, AContractionOverAnAxisIsPartialUntilItIsReduced) {
  EXPECT_EQ(inserted(sharded_program("\"x\"=2", R"((
      %a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
      %b: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  })")),
            Lines{R"(tensor<8x4xf32> [{}, {}], unreduced={"x"} -> [{}, {}])"});
}

TEST(InsertReshards, AConstraintBecomesAReshard) {
  EXPECT_EQ(inserted(sharded_program("\"x\"=2", R"((
      %a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
    %0 = sdy.sharding_constraint %a <@mesh, [{}, {"x"}]> : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  })")),
            Lines{R"(tensor<8x4xf32> [{"x"}, {}] -> [{}, {"x"}])"});
}

TEST(InsertReshards, OneReshardServesAllUsers) {
  EXPECT_EQ(inserted(sharded_program("\"x\"=2", R"((
      %a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) ->
      (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.reverse %a, dims = [0] : tensor<8xf32>
    %1 = stablehlo.slice %a [1:8] : (tensor<8xf32>) -> tensor<7xf32>
    return %0, %1 : tensor<8xf32>, tensor<7xf32>
  })")),
            Lines{R"(tensor<8xf32> [{"x"}] -> [{}])"});
}

TEST(InsertReshards, ResultsArePlacedAsDeclared) {
  EXPECT_EQ(inserted(sharded_program("\"x\"=2", R"((
      %a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.negate %a : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  })")),
            Lines{R"(tensor<8x4xf32> [{"x"}, {}] -> [{}, {}])"});
}

}  // namespace
}  // namespace spmd::testing
