#include "passes/pad_uneven.h"

#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

Dims argument_shape(const Module& module) {
  return module.main().type(module.main().arguments()[0]).shape;
}

TEST(PadUneven, LeavesSizesThatDivide) {
  const Module module = sharded_program("\"x\"=2", R"((
      %a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.negate %a : tensor<8xf32>
    return %0 : tensor<8xf32>
  })");
  const Module after = partitioned_to("pad_uneven", module);
  EXPECT_EQ(argument_shape(after), Dims{8});
  EXPECT_FALSE(after.main().argument_info[0].global_shape.has_value());
}

TEST(PadUneven, SizesGrowAndTrueShapesAreKept) {
  const Module after = partitioned_to("pad_uneven", sharded_program("\"x\"=4", R"((
      %a: tensor<5x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<5x3xf32> {
    %0 = stablehlo.negate %a : tensor<5x3xf32>
    return %0 : tensor<5x3xf32>
  })"));
  EXPECT_EQ(argument_shape(after), (Dims{8, 3}));
  EXPECT_EQ(after.main().argument_info[0].global_shape, (Dims{5, 3}));
  EXPECT_EQ(after.main().result_info[0].global_shape, (Dims{5, 3}));
  EXPECT_EQ(count_ops(after, OpCode::kSelect), 0);  // elementwise: the tail may hold anything
}

TEST(PadUneven, SumsOverATailAreMasked) {
  const Module after = partitioned_to("pad_uneven", sharded_program("\"x\"=2", R"((
      %a: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  })"));
  EXPECT_EQ(argument_shape(after), Dims{6});
  EXPECT_EQ(count_ops(after, OpCode::kSelect), 1);
}

TEST(PadUneven, DimensionsOfAReshapeGrowInOneRatio) {
  const Module after = partitioned_to("pad_uneven", sharded_program("\"x\"=2", R"((
      %a: tensor<3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<15xf32> {
    %0 = stablehlo.reshape %a : (tensor<3x5xf32>) -> tensor<15xf32>
    return %0 : tensor<15xf32>
  })"));
  EXPECT_EQ(argument_shape(after), (Dims{4, 5}));
  EXPECT_EQ(after.main().type(after.main().results()[0]).shape, Dims{20});
}

TEST(PadUneven, AnOpThatNeedsTheTrueSizeGetsASlice) {
  const Module after = partitioned_to("pad_uneven", sharded_program("\"x\"=2", R"((
      %a: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) ->
      (tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.reverse %a, dims = [0] : tensor<5xf32>
    return %0 : tensor<5xf32>
  })"));
  const Function& main = after.main();
  walk(main, [&](OpId id) {
    if (main.op(id).code == OpCode::kReverse) {
      EXPECT_EQ(main.type(main.op(id).operands[0]).shape, Dims{5});
    }
  });
  EXPECT_EQ(count_ops(after, OpCode::kSlice), 1);
}

}  // namespace
}  // namespace spmd::testing
