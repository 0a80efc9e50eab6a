// Small programs for which partitioners are publicly known to communicate needlessly.
#include "passes/compile.h"
#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Lines = std::vector<std::string>;

int64_t bytes_of(const Module& module) {
  return total_bytes_sent(partition(module.clone()).collectives);
}

std::string reshard(const std::string& type, const std::string& from, const std::string& to) {
  return "(%a: " + type + " {sdy.sharding = #sdy.sharding<@mesh, " + from + ">}) -> (" + type +
         " {sdy.sharding = #sdy.sharding<@mesh, " + to +
         ">}) {\n%0 = stablehlo.negate %a : " + type + "\nreturn %0 : " + type + "\n}";
}

TEST(Complaints, AxesMoveBetweenDimensionsWithoutGatheringAll) {
  const CompileResult swap = partition(sharded_program(
      "\"x\"=4, \"y\"=2",
      reshard("tensor<16x16x16xf32>", R"([{"y"}, {}, {"x"}])", R"([{}, {"x", "y"}, {}])")));
  EXPECT_EQ(swap.full_rematerializations, 0);
  // Two all-to-alls of a block of 2,048 bytes send less than one tensor of 16,384.
  EXPECT_LE(total_bytes_sent(swap.collectives), 2 * 2048);
  for (const char* to : {R"([{"x", "y"}, {}, {}, {"z"}])", R"([{"x"}, {}, {}, {"y", "z"}])"}) {
    const CompileResult result = partition(
        sharded_program("\"x\"=2, \"y\"=2, \"z\"=2",
                        reshard("tensor<8x2x2x8xf32>", R"([{"x", "y", "z"}, {}, {}, {}])", to)));
    EXPECT_EQ(result.full_rematerializations, 0);
    EXPECT_LE(total_bytes_sent(result.collectives), 2 * 128);
  }
}

TEST(Complaints, ADotWhoseResultIsPlacedTheOtherWayRound) {
  const CompileResult result = partition(sharded_program("\"x\"=4, \"y\"=2", R"((
      %a: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
      %b: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) ->
      (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
    return %0 : tensor<16x16xf32>
  })"));
  // Less than both operands, 2,048 bytes each, on every device.
  EXPECT_LT(total_bytes_sent(result.collectives), 2 * 2048 * 7 / 8);
  EXPECT_EQ(result.full_rematerializations, 0);
}

TEST(Complaints, ABatchSplitForAccumulationStaysWhereItIs) {
  // The rows of a microbatch are those of two ranks; with the split the other way they stay put.
  EXPECT_EQ(sent_by("\"x\"=4", R"((
      %a: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      (tensor<4x2x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) {
    %0 = stablehlo.reshape %a : (tensor<8x64xf32>) -> tensor<4x2x64xf32>
    return %0 : tensor<4x2x64xf32>
  })"),
            Lines{});
}

TEST(Complaints, ABroadcastOfAReplicatedValueIsLocal) {
  EXPECT_EQ(sent_by("\"x\"=4", R"((%a: tensor<8xf32>) ->
      (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<8xf32>) -> tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  })"),
            Lines{});
}

TEST(Complaints, AReductionOfAReplicatedValueIsCutFirst) {
  const Module module = sharded_program("\"x\"=4", R"((%a: tensor<8x8xf32>) ->
      (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  })");
  EXPECT_EQ(sent_by(module, 1e-6), Lines{});
  const CompileResult result = partition(module.clone());
  const Function& main = result.module.main();
  walk(main, [&](OpId id) {
    if (main.op(id).code != OpCode::kReduce) return;
    EXPECT_EQ(main.type(main.op(id).operands[0]).shape, (Dims{8, 2}));
  });
}

TEST(Complaints, AGroupedConvolutionOfAShardedBatchIsLocal) {
  EXPECT_EQ(sent_by("\"x\"=8", R"((
      %a: tensor<8x4x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}, {}]>},
      %k: tensor<3x3x4x16xf32>) ->
      (tensor<8x4x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}, {}]>}) {
    %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<8x4x4x16xf32>, tensor<3x3x4x16xf32>) -> tensor<8x4x4x16xf32>
    return %0 : tensor<8x4x4x16xf32>
  })",
                    1e-5),
            Lines{});
}

TEST(Complaints, AGatherWithinEachBatchIsLocal) {
  // vmap(take): rows of the operand and of the indices belong together.
  EXPECT_EQ(sent_by("\"x\"=4", R"((
      %t: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
      %i: tensor<8x3x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) ->
      (tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<8x16xf32>, tensor<8x3x1xi32>) -> tensor<8x3xf32>
    return %0 : tensor<8x3xf32>
  })"),
            Lines{});
}

TEST(Complaints, ALayerOfAShardedStackIsReadAlone) {
  // 16 steps, each of which sums one layer of 4x4 over the ranks that may have it.
  const auto stack = [](int64_t ranks) {
    return sharded_program("\"x\"=" + std::to_string(ranks), R"((
        %w: tensor<16x4x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
        %h: tensor<4x4xi32>) -> (tensor<4x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %n = stablehlo.constant dense<16> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %0:2 = stablehlo.while(%i = %z, %c = %h) : tensor<i32>, tensor<4x4xi32>
      cond {
        %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %l = stablehlo.dynamic_slice %w, %i, %z, %z, sizes = [1, 4, 4] : (tensor<16x4x4xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x4xi32>
        %m = stablehlo.reshape %l : (tensor<1x4x4xi32>) -> tensor<4x4xi32>
        %s = stablehlo.maximum %c, %m : tensor<4x4xi32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %s : tensor<i32>, tensor<4x4xi32>
      }
      return %0#1 : tensor<4x4xi32>
    })");
  };
  EXPECT_EQ(sent_by(stack(4)), Lines{"all_reduce x 16 1536"});
  // The code does not grow with the number of devices.
  EXPECT_EQ(partition(stack(2)).module.main().num_live_ops(),
            partition(stack(4)).module.main().num_live_ops());
}

// A loop of `steps` over batches of 4x8 and 4x8, that adds up the products over the batch.
std::string accumulation(const std::string& steps) {
  return R"((
      %x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
      %g: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<)" +
         steps + R"(> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %w = stablehlo.constant dense<0.0> : tensor<8x8xf32>
    %0:2 = stablehlo.while(%i = %z, %c = %w) : tensor<i32>, tensor<8x8xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
      %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
      %xs = stablehlo.add %x, %b : tensor<4x8xf32>
      %d = stablehlo.dot_general %xs, %g, contracting_dims = [0] x [0] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
      %s = stablehlo.add %c, %d : tensor<8x8xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %s : tensor<i32>, tensor<8x8xf32>
    }
    return %0#1 : tensor<8x8xf32>
  })";
}

TEST(Complaints, AGradientThatIsAccumulatedIsReducedOnce) {
  for (const char* steps : {"1", "4"}) {
    EXPECT_EQ(sent_by("\"x\"=2", accumulation(steps), 1e-6), Lines{"all_reduce x 1 256"}) << steps;
  }
  EXPECT_EQ(sent_by("\"x\"=2", accumulation("0")), Lines{"all_reduce x 1 256"});
}

TEST(Complaints, AStepOfALoopGathersTheWeightsOfItsLayer) {
  // Eight layers of 64x64, their rows over 4 devices: what a device lacks of one layer, each step.
  EXPECT_EQ(sent_by("\"x\"=4", R"((
      %w: tensor<8x64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
      %h: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      (tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<8> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%i = %z, %c = %h) : tensor<i32>, tensor<256x64xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %l = stablehlo.dynamic_slice %w, %i, %z, %z, sizes = [1, 64, 64] : (tensor<8x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x64xf32>
      %m = stablehlo.reshape %l : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
      %d = stablehlo.dot_general %c, %m, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
      %t = stablehlo.tanh %d : tensor<256x64xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %t : tensor<i32>, tensor<256x64xf32>
    }
    return %0#1 : tensor<256x64xf32>
  })",
                    1e-5),
            Lines{"all_gather x 8 98304"});
}

TEST(Complaints, TokensOfABatchAreFlattenedWithOneGather) {
  // Blocks of tokens follow each other, so the sequences of a device's two batches must be whole:
  // it lacks half of 2x8x16.
  EXPECT_EQ(sent_by("\"x\"=2, \"y\"=2", R"((
      %a: tensor<4x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>},
      %w: tensor<16x16xf32>) ->
      (tensor<4x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>}) {
    %0 = stablehlo.reshape %a : (tensor<4x8x16xf32>) -> tensor<32x16xf32>
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
    %2 = stablehlo.reshape %1 : (tensor<32x16xf32>) -> tensor<4x8x16xf32>
    return %2 : tensor<4x8x16xf32>
  })",
                    1e-5),
            Lines{"all_gather y 1 512"});
}

TEST(Complaints, ASumThatIsShardedIsScatteredNotReducedEverywhere) {
  for (const char* after :
       {"%r = stablehlo.negate %0 : tensor<8x8xf32>",
        "%r = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>"}) {
    EXPECT_EQ(sent_by("\"x\"=4", std::string(R"((
      %a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
      %b: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    )") + after + "\nreturn %r : tensor<8x8xf32>\n}",
                      1e-5),
              Lines{"reduce_scatter x 1 192"});
  }
}

TEST(Complaints, PipelineStagesPassTheirStateOn) {
  // Four stages' state, rolled by one; the first gets an input that every device has.
  EXPECT_EQ(sent_by("\"x\"=4", R"((
      %s: tensor<4x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
      %u: tensor<1x8x16xf32>) ->
      (tensor<4x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.slice %s [3:4, 0:8, 0:16] : (tensor<4x8x16xf32>) -> tensor<1x8x16xf32>
    %1 = stablehlo.slice %s [0:3, 0:8, 0:16] : (tensor<4x8x16xf32>) -> tensor<3x8x16xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x8x16xf32>, tensor<3x8x16xf32>) -> tensor<4x8x16xf32>
    %3 = stablehlo.dynamic_update_slice %2, %u, %z, %z, %z : (tensor<4x8x16xf32>, tensor<1x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x8x16xf32>
    return %3 : tensor<4x8x16xf32>
  })"),
            Lines{"permute x 1 512"});
}

TEST(Complaints, ASortMovesToAnotherDimensionWhereThatIsCheaper) {
  const Module module = sharded_program("\"x\"=4", R"((
      %a: tensor<64x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) ->
      (tensor<64x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) : (tensor<64x4096xf32>) -> tensor<64x4096xf32>
    return %0 : tensor<64x4096xf32>
  })");
  // Blocks of 262,144 bytes there and back, against three times that to gather.
  EXPECT_EQ(bytes_of(module), 2 * 262144 * 3 / 4);
}

}  // namespace
}  // namespace spmd::testing
