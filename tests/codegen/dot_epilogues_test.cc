// Products with their epilogues: which arithmetic becomes one, and that it means the same. On the
// stand-in for the GPU's library (SPMD_TEST_DEVICE=cuda) the epilogue is the library's.
#include "codegen/dot_epilogues.h"

#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

// %p is the product of %x and %w; `body` goes on from there to %r.
Module program(const std::string& body, const std::string& type = "f32",
               const std::string& result = "tensor<6x16xf32>") {
  std::string text =
      "    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x24xT>, "
      "tensor<24x16xT>) -> tensor<6x16xT>\n" +
      body + "    return %r : " + result;
  std::string signature =
      "(%x: tensor<6x24xT>, %w: tensor<24x16xT>, %b: tensor<16xT>, %y: tensor<6x16xT>) -> " +
      result;
  for (std::string* s : {&text, &signature})
    for (size_t at; (at = s->find("xT>")) != std::string::npos;)
      s->replace(at, 3, "x" + type + ">");
  return module_of(signature, text);
}

constexpr const char* kBias =
    "    %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> tensor<6x16xf32>\n"
    "    %s = stablehlo.add %p, %c : tensor<6x16xf32>\n";
constexpr const char* kZero = "    %z = stablehlo.constant dense<0.0> : tensor<6x16xf32>\n";

TEST(DotEpilogues, BiasAndReLU) {
  const auto epilogues = check_epilogues(program(
      std::string(kBias) + kZero + "    %r = stablehlo.maximum %s, %z : tensor<6x16xf32>\n"));
  ASSERT_EQ(epilogues.size(), 1U);
  EXPECT_GT(epilogues[0].bias(), 0);
  EXPECT_EQ(epilogues[0].residual(), 0);
  EXPECT_EQ(epilogues[0].activation(), plan::DotEpilogue::RELU);
  EXPECT_EQ(epilogues[0].scale(), 1);
}

TEST(DotEpilogues, ScaleBiasAndResidual) {
  const auto epilogues = check_epilogues(
      program("    %f = stablehlo.constant dense<0.25> : tensor<6x16xf32>\n"
              "    %q = stablehlo.multiply %p, %f : tensor<6x16xf32>\n"
              "    %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> "
              "tensor<6x16xf32>\n"
              "    %s = stablehlo.add %q, %c : tensor<6x16xf32>\n"
              "    %r = stablehlo.add %y, %s : tensor<6x16xf32>\n"));
  ASSERT_EQ(epilogues.size(), 1U);
  EXPECT_EQ(epilogues[0].scale(), 0.25);
  EXPECT_GT(epilogues[0].bias(), 0);
  EXPECT_GT(epilogues[0].residual(), 0);
  EXPECT_EQ(epilogues[0].activation(), plan::DotEpilogue::NONE);
}

// Bfloat16 is rounded once instead of after each operation: half a unit in the last place of each.
TEST(DotEpilogues, SixteenBits) {
  const auto epilogues = check_epilogues(
      program("    %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xbf16>) -> "
              "tensor<6x16xbf16>\n"
              "    %r = stablehlo.add %p, %c : tensor<6x16xbf16>\n",
              "bf16", "tensor<6x16xbf16>"),
      0.01);
  EXPECT_EQ(epilogues.size(), 1U);
}

// The rows of a result of three dimensions.
TEST(DotEpilogues, AcrossReshapes) {
  const auto epilogues = check_epilogues(
      program("    %v = stablehlo.reshape %p : (tensor<6x16xf32>) -> tensor<2x3x16xf32>\n"
              "    %c = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<16xf32>) -> "
              "tensor<2x3x16xf32>\n"
              "    %r = stablehlo.add %v, %c : tensor<2x3x16xf32>\n",
              "f32", "tensor<2x3x16xf32>"));
  EXPECT_EQ(epilogues.size(), 1U);
}

// What becomes the bias is computed between the product and its epilogue, and moves out of the way.
TEST(DotEpilogues, PastWhatLiesBetween) {
  const auto epilogues = check_epilogues(
      program("    %e = stablehlo.exponential %b : tensor<16xf32>\n"
              "    %c = stablehlo.broadcast_in_dim %e, dims = [1] : (tensor<16xf32>) -> "
              "tensor<6x16xf32>\n"
              "    %n = stablehlo.constant dense<2.0> : tensor<16xf32>\n"
              "    %m = stablehlo.add %p, %c : tensor<6x16xf32>\n"
              "    %k = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : "
              "(tensor<6x24xf32>, tensor<24x16xf32>) -> tensor<6x16xf32>\n"
              "    %r = stablehlo.add %m, %k : tensor<6x16xf32>\n"));
  EXPECT_GE(epilogues.size(), 1U);
}

// Not: an activation before the bias, a bias per row, a product that is needed itself, a bias that
// comes from the product, other arithmetic.
TEST(DotEpilogues, OtherArithmeticStaysApart) {
  const std::string rows =
      "    %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> tensor<6x16xf32>\n";
  for (const std::string& body :
       {kZero + rows +
            "    %m = stablehlo.maximum %p, %z : tensor<6x16xf32>\n"
            "    %r = stablehlo.add %m, %c : tensor<6x16xf32>\n",
        std::string("    %h = stablehlo.slice %b [0:6] : (tensor<16xf32>) -> tensor<6xf32>\n"
                    "    %c = stablehlo.broadcast_in_dim %h, dims = [0] : (tensor<6xf32>) -> "
                    "tensor<6x16xf32>\n"
                    "    %r = stablehlo.add %p, %c : tensor<6x16xf32>\n"),
        std::string("    %q = stablehlo.transpose %p, dims = [1, 0] : (tensor<6x16xf32>) -> "
                    "tensor<16x6xf32>\n"
                    "    %v = stablehlo.reshape %q : (tensor<16x6xf32>) -> tensor<6x16xf32>\n"
                    "    %r = stablehlo.add %p, %v : tensor<6x16xf32>\n"),
        std::string("    %r = stablehlo.multiply %p, %y : tensor<6x16xf32>\n"),
        rows + "    %t = stablehlo.tanh %p : tensor<6x16xf32>\n"
               "    %r = stablehlo.add %t, %c : tensor<6x16xf32>\n"})
    EXPECT_EQ(check_epilogues(program(body)).size(), 0U) << body;
}

// A result that others read as well stays in memory.
TEST(DotEpilogues, NotOfAResultThatIsNeeded) {
  const auto epilogues = check_epilogues(module_of(
      "(%x: tensor<6x24xf32>, %w: tensor<24x16xf32>, %b: tensor<16xf32>) -> (tensor<6x16xf32>, "
      "tensor<6x16xf32>)",
      "    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x24xf32>, "
      "tensor<24x16xf32>) -> tensor<6x16xf32>\n" +
          std::string(kBias) + "    return %p, %s : tensor<6x16xf32>, tensor<6x16xf32>"));
  EXPECT_EQ(epilogues.size(), 0U);
}

}  // namespace
}  // namespace spmd::testing
