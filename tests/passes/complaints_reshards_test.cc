// More small programs for which partitioners are publicly known to communicate needlessly: where a
// value is placed anew, and where it is computed again.
#include "passes/compile.h"
#include "tests/passes/loops.h"
#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Lines = std::vector<std::string>;

TEST(Complaints, WhatOneDeviceHeldIsCutByAll) {
  // A tensor of one device is a tensor that every device may have: each takes its rows.
  const Module module = program(R"(module @test attributes {mhlo.num_partitions = 4 : i32} {
    func.func public @main(%a: tensor<64x8xf32> {mhlo.sharding = "{maximal device=0}"}) ->
        (tensor<64x8xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"}) {
      %0 = stablehlo.negate %a : tensor<64x8xf32>
      return %0 : tensor<64x8xf32>
    }
  })");
  EXPECT_EQ(sent_by(module), Lines{});
  const std::vector<Remark> remarks = compile(module.clone(), {}).remarks;
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_NE(remarks[0].text.find("is read as replicated"), std::string::npos) << remarks[0].text;
}

TEST(Complaints, ABatchSplitForAccumulationTheOtherWayRoundIsNotGathered) {
  // Row r of eight becomes row r % 4 of batch r / 4. Half of a block of two rows changes places,
  // and then all of it; gathering would send three blocks.
  EXPECT_EQ(sent_by("\"x\"=4", R"((
      %a: tensor<8x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      (tensor<2x4x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
    %0 = stablehlo.reshape %a : (tensor<8x2048xf32>) -> tensor<2x4x2048xf32>
    return %0 : tensor<2x4x2048xf32>
  })"),
            (Lines{"all_to_all x:(1)2 1 8192", "permute x 1 16384"}));
}

TEST(Complaints, ASumThatIsPaddedIsScatteredFirst) {
  EXPECT_EQ(sent_by("\"x\"=4", R"((
      %a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
      %b: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      (tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %r = stablehlo.pad %0, %z, low = [0, 1], high = [0, 3], interior = [0, 0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x12xf32>
    return %r : tensor<8x12xf32>
  })",
                    1e-5),
            Lines{"reduce_scatter x 1 192"});
}

TEST(Complaints, PipelineStagesInALoopPassTheirStateOn) {
  // Eight steps of the first stage's input, a stage's work, and the shift to the next one.
  const std::string body =
      "%u0 = stablehlo.dynamic_slice %in, %i, %start, %start, sizes = [1, 8, 16] : "
      "(tensor<8x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xf32>\n"
      "%1 = stablehlo.dynamic_update_slice %s, %u0, %start, %start, %start : (tensor<4x8x16xf32>, "
      "tensor<1x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x8x16xf32>\n"
      "%2 = stablehlo.tanh %1 : tensor<4x8x16xf32>\n"
      "%3 = stablehlo.slice %2 [3:4, 0:8, 0:16] : (tensor<4x8x16xf32>) -> tensor<1x8x16xf32>\n"
      "%4 = stablehlo.slice %2 [0:3, 0:8, 0:16] : (tensor<4x8x16xf32>) -> tensor<3x8x16xf32>\n"
      "%5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<1x8x16xf32>, tensor<3x8x16xf32>) -> "
      "tensor<4x8x16xf32>\n";
  EXPECT_EQ(sent_by("\"x\"=4",
                    "(%a: tensor<4x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}, "
                    "{}]>}, %in: tensor<8x8x16xf32>) -> (tensor<4x8x16xf32> {sdy.sharding = "
                    "#sdy.sharding<@mesh, [{\"x\"}, {}, {}]>}) {\n" +
                        counted_loop(8, "%s = %a", "tensor<4x8x16xf32>", body, "%5", 1) +
                        "return %loop#1 : tensor<4x8x16xf32>\n}",
                    1e-6),
            Lines{"permute x 8 4096"});
}

// A perceptron of two layers, its hidden dimension over "tp", and its input's gradient; the hidden
// layer is kept for that, or (behind a barrier) computed again.
std::string perceptron(bool again) {
  std::string text = R"((
      %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {}]>},
      %w: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}]>},
      %v: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}) ->
      (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {}]>},
       tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {}]>}) {
    %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %t = stablehlo.tanh %h : tensor<8x32xf32>
    %y = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    )";
  text +=
      again
          ? R"(%b:2 = stablehlo.optimization_barrier %x, %y : tensor<8x16xf32>, tensor<8x16xf32>
    %h2 = stablehlo.dot_general %b#0, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %t2 = stablehlo.tanh %h2 : tensor<8x32xf32>
    %g = stablehlo.dot_general %b#1, %v, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
    %d = stablehlo.multiply %g, %t2 : tensor<8x32xf32>)"
          : R"(%g = stablehlo.dot_general %y, %v, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
    %d = stablehlo.multiply %g, %t : tensor<8x32xf32>)";
  return text + R"(
    %dx = stablehlo.dot_general %d, %w, contracting_dims = [1] x [1] : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
    return %y, %dx : tensor<8x16xf32>, tensor<8x16xf32>
  })";
}

TEST(Complaints, WhatIsComputedAgainSendsNothingMore) {
  // One sum over tp forward and one backward, of 4x16 floats: 2 * 1/2 of 256 bytes each.
  const Lines sums = {"all_reduce tp 1 256", "all_reduce tp 1 256"};
  EXPECT_EQ(sent_by("\"dp\"=2, \"tp\"=2", perceptron(false), 1e-5), sums);
  EXPECT_EQ(sent_by("\"dp\"=2, \"tp\"=2", perceptron(true), 1e-5), sums);
}

TEST(Complaints, AGradientThatNestedLoopsAccumulateIsReducedOnce) {
  const std::string dot =
      "%f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>\n"
      "%b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4x8xf32>\n"
      "%xs = stablehlo.add %x, %b : tensor<4x8xf32>\n"
      "%d = stablehlo.dot_general %xs, %g, contracting_dims = [0] x [0] : (tensor<4x8xf32>, "
      "tensor<4x8xf32>) -> tensor<8x8xf32>\n"
      "%s = stablehlo.add %c, %d : tensor<8x8xf32>\n";
  const std::string inner = counted_loop(2, "%c = %o", "tensor<8x8xf32>", dot, "%s", 1);
  // The outer loop's names are its own.
  std::string outer =
      "%k0 = stablehlo.constant dense<0> : tensor<i32>\n"
      "%outer:2 = stablehlo.while(%k = %k0, %o = %w) : tensor<i32>, "
      "tensor<8x8xf32>\ncond {\n%k3 = stablehlo.constant dense<3> : tensor<i32>\n"
      "%on = stablehlo.compare LT, %k, %k3, SIGNED : (tensor<i32>, tensor<i32>) -> "
      "tensor<i1>\nstablehlo.return %on : tensor<i1>\n} do {\n" +
      inner +
      "%k1 = stablehlo.constant dense<1> : tensor<i32>\n"
      "%kn = stablehlo.add %k, %k1 : tensor<i32>\n"
      "stablehlo.return %kn, %loop#1 : tensor<i32>, tensor<8x8xf32>\n}\n";
  EXPECT_EQ(sent_by("\"x\"=2",
                    R"((
      %x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
      %g: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %w = stablehlo.constant dense<0.0> : tensor<8x8xf32>
    )" + outer + "return %outer#1 : tensor<8x8xf32>\n}",
                    1e-6),
            Lines{"all_reduce x 1 256"});
}

}  // namespace
}  // namespace spmd::testing
