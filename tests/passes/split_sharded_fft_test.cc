#include "passes/split_sharded_fft.h"

#include <complex>
#include <random>

#include "passes/compile.h"
#include "passes/partition/shards.h"
#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Lines = std::vector<std::string>;

// main() transforms an operand of `shape` placed as `sharding` says, like its result.
std::string transform(const std::string& shape, const std::string& sharding,
                      const std::string& length, const std::string& kind = "FFT") {
  const std::string type = "tensor<" + shape + "xcomplex<f32>>";
  const std::string cut = " {sdy.sharding = #sdy.sharding<@mesh, " + sharding + ">}";
  return "(%a: " + type + cut + ") -> (" + type + cut +
         ") {\n%0 = stablehlo.fft %a, type = " + kind + ", length = [" + length + "] : (" + type +
         ") -> " + type + "\nreturn %0 : " + type + "\n}";
}

// Rounding of complex64, relative to the largest element.
constexpr double kTransformRounding = 1e-5;

Lines sent(const std::string& mesh, const std::string& main) {
  return sent_without_latency(mesh, main, kTransformRounding);
}

TEST(SplitShardedFft, ALineIsTransformedInFourSteps) {
  // Three times three quarters of a block of 256 numbers of 8 bytes; all of the line would be four
  // times as much as one of them.
  EXPECT_EQ(sent("\"x\"=4", transform("1024", R"([{"x"}])", "1024")),
            (Lines{"all_to_all x 1 1536", "all_to_all x 1 1536", "all_to_all x 1 1536"}));
  EXPECT_EQ(sent("\"x\"=4", transform("1024", R"([{"x"}])", "1024", "IFFT")),
            (Lines{"all_to_all x 1 1536", "all_to_all x 1 1536", "all_to_all x 1 1536"}));
}

TEST(SplitShardedFft, AlongTwoAxesAndBesideABatch) {
  // A batch of two, cut along z, has no room for x and y: three quarters of blocks of 64 numbers.
  EXPECT_EQ(sent("\"x\"=2, \"y\"=2, \"z\"=2", transform("2x256", R"([{"z"}, {"x", "y"}])", "256")),
            (Lines{"all_to_all x,y 1 384", "all_to_all x,y 1 384", "all_to_all x,y 1 384"}));
}

TEST(SplitShardedFft, OddNumbersOfDevices) {
  // Four fifths of blocks of 15 numbers.
  EXPECT_EQ(sent("\"x\"=5", transform("75", R"([{"x"}])", "75")),
            (Lines{"all_to_all x 1 96", "all_to_all x 1 96", "all_to_all x 1 96"}));
}

TEST(SplitShardedFft, ThereAndBackInThreeDimensions) {
  for (const char* cut : {R"([{"x"}, {}, {}])", R"([{}, {}, {"x"}])", R"([{}, {"x"}, {}])"}) {
    const std::string type = "tensor<8x8x8xcomplex<f32>>";
    const std::string placed = type + " {sdy.sharding = #sdy.sharding<@mesh, " + cut + ">}";
    const Module module = sharded_program(
        "\"x\"=4", "(%a: " + placed + ") -> (" + placed + ", " + placed +
                       ") {\n%0 = stablehlo.fft %a, type = FFT, length = [8, 8, 8] : (" + type +
                       ") -> " + type +
                       "\n%1 = stablehlo.fft %0, type = IFFT, length = [8, 8, 8] : (" + type +
                       ") -> " + type + "\nreturn %0, %1 : " + type + ", " + type + "\n}");
    // To another dimension and back: of a block of 128 numbers, 1,024 bytes, three quarters.
    EXPECT_EQ(
        sent_without_latency("\"x\"=4", transform("8x8x8", cut, "8, 8, 8"), kTransformRounding),
        (Lines{"all_to_all x 1 768", "all_to_all x 1 768"}));
    sent_by(module, kTransformRounding);
    CompileOptions options;
    options.cost.latency = 0;
    const CompileResult result = partition(module.clone(), options);
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<std::complex<float>> numbers(512);
    for (std::complex<float>& number : numbers) number = {uniform(random), uniform(random)};
    const std::vector<Literal> inputs = {Literal::of(TensorType{DType::kC64, {8, 8, 8}}, numbers)};
    const Literal back = evaluate_partitioned(result.module, inputs)[1].expanded();
    for (size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_LT(std::abs(back.as<std::complex<float>>()[i] - numbers[i]), 1e-5F) << i;
    }
  }
}

// Cut along the second of two dimensions, and transformed along it alone.
Lines sent_by_batch(const std::string& mesh, const std::string& rows, const std::string& cut) {
  return sent(mesh, transform(rows + "x64", "[{}, {" + cut + "}]", "64"));
}

TEST(SplitShardedFft, BatchesTakeTheAxesWhereTheyCan) {
  // Of blocks of 8 x 16 numbers, 1,024 bytes, three quarters; there and back.
  EXPECT_EQ(sent_by_batch("\"x\"=4", "8", "\"x\""),
            (Lines{"all_to_all x 1 768", "all_to_all x 1 768"}));
  // Six rows over four devices, as eight.
  EXPECT_EQ(sent_by_batch("\"x\"=4", "6", "\"x\""),
            (Lines{"all_to_all x 1 768", "all_to_all x 1 768"}));
  // An axis for each of two batch dimensions.
  EXPECT_EQ(sent("\"x\"=2, \"y\"=2", transform("2x2x64", R"([{}, {}, {"x", "y"}])", "64")),
            (Lines{"all_to_all y 1 256", "all_to_all x 1 256", "all_to_all x 1 256",
                   "all_to_all y 1 256"}));
}

TEST(SplitShardedFft, RealTransformsOfSeveralDimensionsMoveTheirAxes) {
  const auto real = [](const std::string& kind, const std::string& from, const std::string& to) {
    const std::string result = "tensor<" + to + ">", operand = "tensor<" + from + ">";
    const std::string cut = " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}";
    return "(%a: " + operand + cut + ") -> (" + result + cut +
           ") {\n%0 = stablehlo.fft %a, type = " + kind + ", length = [64, 32] : (" + operand +
           ") -> " + result + "\nreturn %0 : " + result + "\n}";
  };
  // Rows of 17 numbers, 20 with padding, over four devices: blocks of 16 x 20 of 8 bytes.
  EXPECT_EQ(sent("\"x\"=4", real("RFFT", "64x32xf32", "64x17xcomplex<f32>")),
            (Lines{"all_to_all x 1 1920", "all_to_all x 1 1920"}));
  EXPECT_EQ(sent("\"x\"=4", real("IRFFT", "64x17xcomplex<f32>", "64x32xf32")),
            (Lines{"all_to_all x 1 1920", "all_to_all x 1 1920"}));
}

TEST(SplitShardedFft, WhatCannotBeSplitIsGatheredWithARemark) {
  const auto remarks = [](const std::string& main) {
    std::string all;
    for (const Remark& remark : partition(sharded_program("\"x\"=4", main)).remarks) {
      all += remark.text + "\n";
    }
    return all;
  };
  // 24 is no multiple of 4 times 4; of a real line half of the spectrum would be cut unevenly.
  const std::string line = transform("24", R"([{"x"}])", "24");
  EXPECT_EQ(sent("\"x\"=4", line), Lines{"all_gather x 1 144"});
  EXPECT_NE(remarks(line).find("fft needs dimension 0 of tensor<24xcomplex<f32>> whole"),
            std::string::npos)
      << remarks(line);
  const std::string real = R"((%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) ->
      tensor<33xcomplex<f32>> {
    %0 = stablehlo.fft %a, type = RFFT, length = [64] : (tensor<64xf32>) -> tensor<33xcomplex<f32>>
    return %0 : tensor<33xcomplex<f32>>
  })";
  EXPECT_EQ(sent("\"x\"=4", real), Lines{"all_gather x 1 192"});
  EXPECT_NE(remarks(real).find("fft needs dimension 0 of tensor<64xf32> whole"), std::string::npos)
      << remarks(real);
}

TEST(SplitShardedFft, SmallLinesAreGathered) {
  // One collective takes less time than three.
  EXPECT_EQ(sent_by("\"x\"=4", transform("64", R"([{"x"}])", "64"), kTransformRounding),
            Lines{"all_gather x 1 384"});
}

}  // namespace
}  // namespace spmd::testing
