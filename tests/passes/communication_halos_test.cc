// What slices, pads, windows and their like send along a sharded dimension: edges.
#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Lines = std::vector<std::string>;

// An op of one operand, both cut along their first dimension of x=4.
std::string on_rows(const std::string& operand, const std::string& op, const std::string& result) {
  const auto cut = [](const std::string& type) {
    std::string dims = "[{\"x\"}";
    for (size_t i = 0; i + 1 < static_cast<size_t>(std::count(type.begin(), type.end(), 'x'));
         ++i) {
      dims += ", {}";
    }
    return "tensor<" + type + "> {sdy.sharding = #sdy.sharding<@mesh, " + dims + "]>}";
  };
  return "(%a: " + cut(operand) + ") -> (" + cut(result) + ") {\n" + op + "\nreturn %r : tensor<" +
         result + ">\n}";
}

// As numpy's roll is exported.
std::string roll(int64_t rows, int64_t by) {
  const auto type = [](int64_t n) { return "tensor<" + std::to_string(n) + "xf32>"; };
  const std::string cut = std::to_string(rows - by), all = std::to_string(rows);
  return on_rows(all + "xf32",
                 "%0 = stablehlo.slice %a [" + cut + ":" + all + "] : (" + type(rows) + ") -> " +
                     type(by) + "\n%1 = stablehlo.slice %a [0:" + cut + "] : (" + type(rows) +
                     ") -> " + type(rows - by) +
                     "\n%r = stablehlo.concatenate %0, %1, dim = 0 : (" + type(by) + ", " +
                     type(rows - by) + ") -> " + type(rows),
                 all + "xf32");
}

TEST(Rolls, ByOneSendOneElement) {
  EXPECT_EQ(sent_by("\"x\"=4", roll(16, 1)), Lines{"permute x 1 4"});
  EXPECT_EQ(sent_by("\"x\"=4", roll(16, 15)), Lines{"permute x 1 4"});
}

TEST(Rolls, UnevenBlocksSendNoMore) {
  EXPECT_EQ(sent_by("\"x\"=4", roll(15, 1)), Lines{"permute x 1 4"});
  // Five elements in blocks of two: the last rank has none.
  EXPECT_EQ(sent_by("\"x\"=4", roll(5, 1)), Lines{"permute x 1 4"});
}

TEST(Rolls, OfBlocksSendBlocks) {
  EXPECT_EQ(sent_by("\"x\"=4", roll(16, 4)), Lines{"permute x 1 16"});
  EXPECT_EQ(sent_by("\"x\"=4", roll(16, 8)), Lines{"permute x 1 16"});
  // A block and a row more: three rows from one rank, one from the next.
  EXPECT_EQ(sent_without_latency("\"x\"=4", roll(16, 5)),
            (Lines{"permute x 1 4", "permute x 1 12"}));
}

TEST(Rolls, AreGatheredWhereThatIsCheaper) {
  // Two permutes take longer than one small gather.
  EXPECT_EQ(sent_by("\"x\"=4", roll(16, 5)), Lines{"all_gather x 1 48"});
}

TEST(Rolls, AlongPartOfAMesh) {
  EXPECT_EQ(sent_by("\"y\"=3, \"x\"=4", roll(16, 1)), Lines{"permute x 1 4"});
}

TEST(Slices, OfOneStrideSendWhatBlocksLack) {
  // All but the first row: each rank lacks the last of its block, which the next one has.
  EXPECT_EQ(
      sent_by("\"x\"=4", on_rows("16x8xf32",
                                 "%r = stablehlo.slice %a [1:16, 0:8] : (tensor<16x8xf32>) -> "
                                 "tensor<15x8xf32>",
                                 "15x8xf32")),
      Lines{"permute x 1 32"});
  // The first half: no rank gets more than two pieces.
  EXPECT_EQ(sent_without_latency("\"x\"=4", on_rows("16x8xf32",
                                                    "%r = stablehlo.slice %a [0:8, 0:8] : "
                                                    "(tensor<16x8xf32>) -> tensor<8x8xf32>",
                                                    "8x8xf32")),
            (Lines{"permute x 1 64", "permute x 1 64"}));
}

TEST(Slices, WithStridesTakeRowsWhereTheyAre) {
  for (const char* start : {"0", "1"}) {
    EXPECT_EQ(sent_by("\"x\"=4", on_rows("16xf32",
                                         "%r = stablehlo.slice %a [" + std::string(start) +
                                             ":16:2] : (tensor<16xf32>) -> tensor<8xf32>",
                                         "8xf32")),
              Lines{});
  }
}

TEST(Slices, SmallOnesAreSummedOverTheRanksThatMayHaveThem) {
  EXPECT_EQ(sent_by("\"x\"=4", R"((
      %a: tensor<1024x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      (tensor<1x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.slice %a [1023:1024, 0:64] : (tensor<1024x64xf32>) -> tensor<1x64xf32>
    return %0 : tensor<1x64xf32>
  })"),
            Lines{"all_reduce x 1 384"});
}

TEST(Reversals, ExchangeBlocks) {
  EXPECT_EQ(
      sent_by("\"x\"=4", on_rows("16xf32", "%r = stablehlo.reverse %a, dims = [0] : tensor<16xf32>",
                                 "16xf32")),
      Lines{"permute x 1 16"});
}

TEST(Pads, ShiftRows) {
  EXPECT_EQ(sent_by("\"x\"=4", on_rows("15xf32",
                                       "%z = stablehlo.constant dense<7.0> : tensor<f32>\n"
                                       "%r = stablehlo.pad %a, %z, low = [1], high = [0], interior "
                                       "= [0] : (tensor<15xf32>, tensor<f32>) -> tensor<16xf32>",
                                       "16xf32")),
            Lines{"permute x 1 4"});
  // Behind the last row there is nothing to move.
  EXPECT_EQ(sent_by("\"x\"=4", on_rows("15xf32",
                                       "%z = stablehlo.constant dense<7.0> : tensor<f32>\n"
                                       "%r = stablehlo.pad %a, %z, low = [0], high = [1], interior "
                                       "= [0] : (tensor<15xf32>, tensor<f32>) -> tensor<16xf32>",
                                       "16xf32")),
            Lines{});
  // Holes between rows: every block becomes two.
  EXPECT_EQ(sent_by("\"x\"=4", on_rows("16xf32",
                                       "%z = stablehlo.constant dense<7.0> : tensor<f32>\n"
                                       "%r = stablehlo.pad %a, %z, low = [0], high = [1], interior "
                                       "= [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>",
                                       "32xf32")),
            Lines{});
}

TEST(Concatenations, OfAReplicatedPartReadItInPlace) {
  // Blocks of three become blocks of four: one row, two and three come from the next rank.
  EXPECT_EQ(sent_by("\"x\"=4", R"((
      %a: tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<4xf32>) ->
      (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<12xf32>, tensor<4xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  })"),
            Lines{"permute x 1 12"});
}

// ---- windows

std::string max_pool(int64_t rows, int64_t size, int64_t stride, int64_t low, int64_t high) {
  const int64_t results = (rows + low + high - size) / stride + 1;
  const std::string from = std::to_string(rows) + "x8xf32", to = std::to_string(results) + "x8xf32";
  const auto text = [](int64_t n) { return std::to_string(n); };
  return on_rows(from,
                 "%z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
                 "%r = \"stablehlo.reduce_window\"(%a, %z) <{padding = dense<[[" +
                     text(low) + ", " + text(high) +
                     "], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: " + text(size) +
                     ", 1>, window_strides = array<i64: " + text(stride) +
                     ", 1>}> ({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n%s = stablehlo.maximum "
                     "%p, %q : tensor<f32>\nstablehlo.return %s : tensor<f32>\n}) : (tensor<" +
                     from + ">, tensor<f32>) -> tensor<" + to + ">",
                 to);
}

TEST(Windows, SideBySideSendNothing) {
  EXPECT_EQ(sent_by("\"x\"=4", max_pool(64, 2, 2, 0, 0)), Lines{});
}

TEST(Windows, SendTheRowsThatOverlap) {
  // A row of 8 elements from either side.
  EXPECT_EQ(sent_by("\"x\"=4", max_pool(4096, 3, 1, 1, 1)),
            (Lines{"permute x 1 32", "permute x 1 32"}));
  // Of every second row's window only the row before is missing.
  EXPECT_EQ(sent_by("\"x\"=4", max_pool(4096, 3, 2, 1, 0)), Lines{"permute x 1 32"});
  // Seven rows over four: blocks of two, the last of one.
  EXPECT_EQ(sent_without_latency("\"x\"=4", max_pool(7, 3, 1, 1, 1)),
            (Lines{"permute x 1 32", "permute x 1 32"}));
}

std::string convolution(int64_t rows, const std::string& kernel, const std::string& window,
                        int64_t results) {
  const std::string from = "2x" + std::to_string(rows) + "x4xf32";
  const std::string to = "2x" + std::to_string(results) + "x4xf32";
  return "(%a: tensor<" + from +
         "> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}, {}]>}, %k: tensor<" + kernel +
         ">) -> (tensor<" + to + "> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}, {}]>}) {\n" +
         "%0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window "
         "= {" +
         window + "} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<" +
         from + ">, tensor<" + kernel + ">) -> tensor<" + to + ">\nreturn %0 : tensor<" + to +
         ">\n}";
}

TEST(Convolutions, SendHalos) {
  // 2 images x 4 features of f32: 32 bytes a row.
  EXPECT_EQ(sent_by("\"x\"=4", convolution(4096, "3x4x4xf32", "stride = [1], pad = [[1, 1]]", 4096),
                    1e-5),
            (Lines{"permute x 1 32", "permute x 1 32"}));
  // Dilated: two rows on either side.
  EXPECT_EQ(sent_by("\"x\"=4",
                    convolution(4096, "3x4x4xf32", "stride = [1], pad = [[2, 2]], rhs_dilate = [2]",
                                4096),
                    1e-5),
            (Lines{"permute x 1 64", "permute x 1 64"}));
  // Transposed: holes between rows, results twice as many; each block lacks one row.
  EXPECT_EQ(sent_by("\"x\"=4",
                    convolution(4096, "2x4x4xf32", "stride = [1], pad = [[1, 1]], lhs_dilate = [2]",
                                8192),
                    1e-5),
            Lines{});
}

TEST(Convolutions, TheGradientOfAKernelIsSummedOnce) {
  // Rows of the input and of the results' gradient are cut alike: a halo, and one sum of 3x4x4.
  EXPECT_EQ(sent_by("\"x\"=4", R"((
      %a: tensor<4x4096x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
      %g: tensor<4096x2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) ->
      (tensor<4x3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) {
    %0 = stablehlo.convolution(%a, %g) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x4096x2xf32>, tensor<4096x2x4xf32>) -> tensor<4x3x4xf32>
    return %0 : tensor<4x3x4xf32>
  })",
                    1e-5),
            (Lines{"permute x 1 32", "permute x 1 32", "all_reduce x 1 288"}));
}

TEST(Convolutions, InTwoDimensionsSendCornersWithEdges) {
  EXPECT_EQ(sent_without_latency("\"x\"=2, \"y\"=2", R"((
      %a: tensor<1x8x8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>},
      %k: tensor<3x3x1x1xf32>) ->
      (tensor<1x8x8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}) {
    %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x1xf32>, tensor<3x3x1x1xf32>) -> tensor<1x8x8x1xf32>
    return %0 : tensor<1x8x8x1xf32>
  })",
                                 1e-5),
            // A row of four to the one neighbour; then a column of six, corners included.
            (Lines{"permute x 1 16", "permute y 1 24"}));
}

}  // namespace
}  // namespace spmd::testing
