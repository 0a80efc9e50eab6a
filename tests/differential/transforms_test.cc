// Fourier transforms along cut dimensions: the same at every stage, and run.
#include <fmt/format.h>

#include <random>

#include "gtest/gtest.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "launcher/stages.h"

namespace spmd::testing {
namespace {

// At every stage the same as far as rounding goes; links have no latency for half of the inputs, so
// that short lines are split too.
void expect_same_within_rounding(const std::string& mesh, const std::string& main) {
  const Module module = parse_stablehlo(
      "module @test {\nsdy.mesh @mesh = <[" + mesh + "]>\nfunc.func public @main" + main + "\n}\n",
      "transform.mlir");
  verify(module);
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    StageOptions options;
    options.inputs = InputStyle::kReal;
    options.seed = seed;
    if (seed % 2 == 1) options.cost.latency = 0;
    const auto failure = check_stages(module, options);
    if (failure) ADD_FAILURE() << "inputs " << seed << ", " << failure->to_string();
  }
}

std::string transform(const std::string& kind, const std::string& shape, const std::string& cut,
                      const std::string& length, const std::string& element) {
  const std::string type = "tensor<" + shape + "xcomplex<" + element + ">>";
  const std::string placed = type + " {sdy.sharding = #sdy.sharding<@mesh, " + cut + ">}";
  return fmt::format(
      "(%a: {1}) -> ({1}) {{\n%0 = stablehlo.fft %a, type = {2}, length = [{3}] : ({0}) -> {0}\n"
      "return %0 : {0}\n}}",
      type, placed, kind, length);
}

TEST(Transforms, OfLinesInFourSteps) {
  std::mt19937 random(11);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 8; ++round) {
    const int x = draw(2, 3), y = draw(1, 2), shards = x * y;
    const int length = shards * shards * draw(1, 7);
    const std::string mesh = fmt::format("\"x\"={}, \"y\"={}", x, y);
    const std::string axes = round % 2 == 0 ? "\"x\", \"y\"" : "\"y\", \"x\"";
    SCOPED_TRACE(fmt::format("{} over {}", length, mesh));
    expect_same_within_rounding(
        mesh,
        transform(round % 3 == 0 ? "IFFT" : "FFT", fmt::format("{}", length), "[{" + axes + "}]",
                  fmt::format("{}", length), round % 4 == 3 ? "f64" : "f32"));
  }
}

TEST(Transforms, OfSeveralDimensions) {
  expect_same_within_rounding(R"("x"=2, "y"=2)",
                              transform("FFT", "4x6x8", R"([{"x"}, {"y"}, {}])", "4, 6, 8", "f32"));
  expect_same_within_rounding(R"("x"=2, "y"=2)",
                              transform("IFFT", "8x5", R"([{"x", "y"}, {}])", "8, 5", "f32"));
  expect_same_within_rounding(R"("x"=3)", transform("FFT", "7x9", R"([{}, {"x"}])", "7, 9", "f32"));
  // No dimension has room for the axes of another: 2 x 16 along four devices each way.
  expect_same_within_rounding(R"("x"=2, "y"=4)",
                              transform("FFT", "2x16", R"([{"x"}, {"y"}])", "2, 16", "f32"));
}

TEST(Transforms, OfRealNumbers) {
  const auto real = [](const std::string& kind, const std::string& operand,
                       const std::string& result, const std::string& cut) {
    return fmt::format(
        "(%a: tensor<{0}> {{sdy.sharding = #sdy.sharding<@mesh, {2}>}}) -> tensor<{1}> {{\n%0 = "
        "stablehlo.fft %a, type = {3}, length = [12, 8] : (tensor<{0}>) -> tensor<{1}>\nreturn %0 "
        ": tensor<{1}>\n}}",
        operand, result, cut, kind);
  };
  for (const char* cut : {R"([{"x"}, {}])", R"([{}, {"x"}])", R"([{"x"}, {"y"}])"}) {
    SCOPED_TRACE(cut);
    expect_same_within_rounding(R"("x"=2, "y"=2)",
                                real("RFFT", "12x8xf32", "12x5xcomplex<f32>", cut));
    expect_same_within_rounding(R"("x"=2, "y"=2)",
                                real("IRFFT", "12x5xcomplex<f32>", "12x8xf32", cut));
  }
}

TEST(Transforms, OfNothing) {
  expect_same_within_rounding(R"("x"=2)", transform("FFT", "0", R"([{"x"}])", "0", "f32"));
  expect_same_within_rounding(R"("x"=2)", transform("FFT", "0x4", R"([{}, {"x"}])", "4", "f32"));
}

TEST(Transforms, OfUnevenBatches) {
  for (const char* rows : {"3", "5", "6"}) {
    expect_same_within_rounding(
        R"("x"=4)", transform("FFT", std::string(rows) + "x16", R"([{}, {"x"}])", "16", "f32"));
  }
}

}  // namespace
}  // namespace spmd::testing
