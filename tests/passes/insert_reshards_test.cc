#include "passes/insert_reshards.h"

#include "passes/compile.h"
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

// A sort of %a in some direction, as %N.
std::string sort(const std::string& name, const std::string& direction) {
  return name + R"( = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %c = stablehlo.compare )" +
         direction + R"(, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) : (tensor<8xf32>) -> tensor<8xf32>
)";
}

TEST(InsertReshards, OneReshardServesAllUsers) {
  EXPECT_EQ(inserted(sharded_program("\"x\"=2", R"((
      %a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) ->
      (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
)" + sort("%0", "LT") + sort("%1", "GT") +
                                                    R"(
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  })")),
            Lines{R"(tensor<8xf32> [{"x"}] -> [{}])"});
}

TEST(InsertReshards, WhatIsGatheredIsReported) {
  const Module module = sharded_program("\"x\"=4", R"((
      %a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
)" + sort("%0", "LT") + R"(
    return %0 : tensor<8xf32>
  })");
  const std::vector<Remark> remarks = partition(module.clone()).remarks;
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].text,
            "stablehlo.sort needs dimension 0 of tensor<8xf32> whole: it is gathered on every "
            "device");
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
