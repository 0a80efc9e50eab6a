#include "tests/differential/coverage.h"

#include "gtest/gtest.h"
#include "ir/text.h"
#include "launcher/stages.h"

namespace spmd::testing {
namespace {

Coverage coverage_of(const std::string& mesh, const std::string& main) {
  const Module module = parse_stablehlo(
      "module @test {\nsdy.mesh @mesh = <[" + mesh + "]>\nfunc.func public @main" + main + "\n}\n",
      "test.mlir");
  Coverage coverage;
  StageOptions options;
  options.inspect = [&](const std::string& pass, const Module& m) { coverage.add(pass, m); };
  EXPECT_FALSE(check_stages(module, options));
  return coverage;
}

bool has_line(const Coverage& coverage, const std::string& line) {
  return ("\n" + coverage.to_lines()).find("\n" + line + "\n") != std::string::npos;
}

// uneven, empty, sub-axis, axis of 1, unreduced, odd order
TEST(Coverage, CountsOpsByKindOfDimensionAndCircumstance) {
  const Coverage coverage = coverage_of(
      R"("x"=4, "y"=1)",
      R"((%a: tensor<6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<5x3xf32>) -> tensor<6x3xf32> {
    %0 = stablehlo.negate %a : tensor<6x5xf32>
    %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0] : (tensor<6x5xf32>, tensor<5x3xf32>) -> tensor<6x3xf32>
    return %1 : tensor<6x3xf32>
  })");
  EXPECT_TRUE(has_line(coverage, "stablehlo.negate batch 1 1 1 0 1 0 0")) << coverage.to_lines();
  EXPECT_TRUE(has_line(coverage, "stablehlo.dot_general free 1 1 1 0 1 0 0"));
  EXPECT_TRUE(has_line(coverage, "stablehlo.dot_general reduced 1 0 0 0 0 0 0"));
  EXPECT_EQ(coverage.num_cells(), 18u);
}

TEST(Coverage, SumsOverCutDimensionsAreUnreduced) {
  const Coverage coverage = coverage_of(
      R"("x"=4)",
      R"((%a: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {}]>}) -> tensor<3xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  })");
  EXPECT_TRUE(has_line(coverage, "stablehlo.reduce reduced 1 0 0 1 0 1 0")) << coverage.to_lines();
}

TEST(Coverage, AddsUpAndListsWhatIsRare) {
  Coverage coverage, other;
  coverage.parse("stablehlo.add batch 30 20 19 20 20 20 20\n");
  other.parse("stablehlo.add batch 2 1 0 0 0 0 0\nstablehlo.all_gather any 40 0 0 0 30 0 3\n");
  coverage.merge(other);
  // Of collectives of manual code, which divide what they exchange, two circumstances count.
  EXPECT_EQ(coverage.reached_less_than(20),
            (std::vector<std::string>{"stablehlo.add batch empty: 19",
                                      "stablehlo.all_gather any odd_order: 3"}));
  EXPECT_NE(coverage.to_table().find("stablehlo.add"), std::string::npos);
  Coverage again;
  again.parse(coverage.to_lines());
  EXPECT_EQ(again.to_lines(), coverage.to_lines());
}

}  // namespace
}  // namespace spmd::testing
