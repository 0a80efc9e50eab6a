// Reductions fused with their surroundings: what becomes one kernel, that nothing between its parts
// takes memory, and that it still means the same, in both dialects and without a compiler.
#include "codegen/fuse_rows.h"

#include "codegen/kernels/compile_kernels.h"
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

// Steps of each kind after fusion; checks that they mean the same.
std::map<std::string, int> kinds_after_fusion(const Module& module, double tolerance = 2e-6) {
  const plan::Plan fused = fused_plan_of(module);
  expect_meaning_of(fused, module, tolerance, Kernels::kBothDialects);
  return kinds(fused);
}

using Kinds = std::map<std::string, int>;

constexpr const char* kReduce =
    "    %{r} = stablehlo.reduce(%{x} init: %{i}) applies stablehlo.{op} across dimensions = [{d}] "
    ": "
    "({t}, tensor<f32>) -> {u}\n";

std::string reduce(std::string r, std::string x, std::string i, std::string op, std::string d,
                   std::string t, std::string u) {
  std::string text = kReduce;
  const auto put = [&](const std::string& key, const std::string& value) {
    for (size_t at; (at = text.find(key)) != std::string::npos;)
      text.replace(at, key.size(), value);
  };
  put("{r}", r), put("{x}", x), put("{i}", i), put("{op}", op), put("{d}", d), put("{t}", t),
      put("{u}", u);
  return text;
}

std::string rows_to(std::string r, std::string x, std::string u, std::string t) {
  return "    %" + r + " = stablehlo.broadcast_in_dim %" + x + ", dims = [0] : (" + u + ") -> " +
         t + "\n";
}

constexpr const char* kMatrix = "tensor<6x40xf32>";
constexpr const char* kRow = "tensor<6xf32>";
constexpr const char* kConstants =
    "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n";

TEST(FuseRows, Softmax) {
  const Module module = module_of(
      "(%x: tensor<6x40xf32>) -> tensor<6x40xf32>",
      std::string(kConstants) + reduce("m", "x", "low", "maximum", "1", kMatrix, kRow) +
          rows_to("mb", "m", kRow, kMatrix) +
          "    %c = stablehlo.subtract %x, %mb : tensor<6x40xf32>\n"
          "    %e = stablehlo.exponential %c : tensor<6x40xf32>\n" +
          reduce("s", "e", "zero", "add", "1", kMatrix, kRow) + rows_to("sb", "s", kRow, kMatrix) +
          "    %r = stablehlo.divide %e, %sb : tensor<6x40xf32>\n"
          "    return %r : tensor<6x40xf32>");
  EXPECT_EQ(kinds_after_fusion(module), (Kinds{{"fused", 1}}));
  std::vector<codegen::FusionNote> notes;
  EXPECT_EQ(fused_plan_of(module, &notes).arena_bytes(), 0);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].reductions, 2);
  EXPECT_EQ(notes[0].elementwise, 2);
  // m and s: written once and read once; e: written once, read twice; x: read once more.
  EXPECT_EQ(notes[0].bytes_saved, 2 * 2 * 6 * 4 + 4 * 6 * 40 * 4);
}

TEST(FuseRows, LayerNormOfThreeDimensions) {
  const std::string t = "tensor<2x3x40xf32>", u = "tensor<2x3xf32>";
  const auto back = [&](const std::string& r, const std::string& x) {
    return "    %" + r + " = stablehlo.broadcast_in_dim %" + x + ", dims = [0, 1] : (" + u +
           ") -> " + t + "\n";
  };
  const Module module =
      module_of("(%x: tensor<2x3x40xf32>, %g: tensor<40xf32>) -> tensor<2x3x40xf32>",
                std::string(kConstants) +
                    std::string("    %n = stablehlo.constant dense<40.0> : tensor<2x3xf32>\n"
                                "    %eps = stablehlo.constant dense<1.0e-5> : tensor<2x3xf32>\n") +
                    reduce("s", "x", "zero", "add", "2", t, u) +
                    "    %mean = stablehlo.divide %s, %n : tensor<2x3xf32>\n" + back("mb", "mean") +
                    "    %c = stablehlo.subtract %x, %mb : tensor<2x3x40xf32>\n"
                    "    %q = stablehlo.multiply %c, %c : tensor<2x3x40xf32>\n" +
                    reduce("v", "q", "zero", "add", "2", t, u) +
                    "    %var = stablehlo.divide %v, %n : tensor<2x3xf32>\n"
                    "    %ve = stablehlo.add %var, %eps : tensor<2x3xf32>\n"
                    "    %i = stablehlo.rsqrt %ve : tensor<2x3xf32>\n" +
                    back("ib", "i") +
                    "    %y = stablehlo.multiply %c, %ib : tensor<2x3x40xf32>\n"
                    "    %gb = stablehlo.broadcast_in_dim %g, dims = [2] : (tensor<40xf32>) -> "
                    "tensor<2x3x40xf32>\n"
                    "    %r = stablehlo.multiply %y, %gb : tensor<2x3x40xf32>\n"
                    "    return %r : tensor<2x3x40xf32>");
  EXPECT_EQ(kinds_after_fusion(module), (Kinds{{"fused", 1}}));
}

// Two rows that are needed again after their sums: on a GPU two warps share one.
TEST(FuseRows, LongRowsOfTwoOperands) {
  const std::string narrow = "tensor<6x1600xbf16>", wide = "tensor<6x1600xf32>";
  const auto widened = [&](const std::string& r, const std::string& x) {
    return "    %" + r + " = stablehlo.convert %" + x + " : (" + narrow + ") -> " + wide + "\n";
  };
  const Module module = module_of(
      "(%x: " + narrow + ", %y: " + narrow + ") -> " + wide,
      std::string(kConstants) + widened("u", "x") + widened("v", "y") +
          "    %p = stablehlo.multiply %u, %v : " + wide + "\n" +
          reduce("s", "p", "zero", "add", "1", wide, kRow) + rows_to("sb", "s", kRow, wide) +
          "    %a = stablehlo.multiply %u, %sb : " + wide + "\n" +
          "    %r = stablehlo.add %a, %v : " + wide + "\n    return %r : " + wide);
  EXPECT_EQ(kinds_after_fusion(module), (Kinds{{"fused", 1}}));
  plan::Plan plan = fused_plan_of(module);
  emit_kernels(plan, plan::KernelModule::CUDA);
  ASSERT_EQ(plan.kernels().kernels_size(), 1);
  EXPECT_EQ(plan.kernels().kernels(0).threads(), 64);
  EXPECT_EQ(plan.kernels().kernels(0).blocks(), 6);
}

// A bias gradient: the column sums of what also goes on.
TEST(FuseRows, ColumnSumsWithTheirProducer) {
  const Module module = module_of(
      "(%x: tensor<16x40xf32>, %y: tensor<16x40xf32>) -> (tensor<16x40xf32>, tensor<40xf32>)",
      std::string(kConstants) +
          std::string("    %t = stablehlo.multiply %x, %y : tensor<16x40xf32>\n"
                      "    %p = stablehlo.add %t, %y : tensor<16x40xf32>\n") +
          reduce("s", "p", "zero", "add", "0", "tensor<16x40xf32>", "tensor<40xf32>") +
          "    return %p, %s : tensor<16x40xf32>, tensor<40xf32>");
  EXPECT_EQ(kinds_after_fusion(module), (Kinds{{"fused", 1}}));
}

// Wide enough that a GPU's threads have several neighbouring columns each, the last tile in part.
TEST(FuseRows, SumsOfManyColumns) {
  const std::string wide = "tensor<24x416xf32>", narrow = "tensor<24x416xbf16>";
  const Module module =
      module_of("(%x: " + narrow + ", %y: " + wide + ", %m: tensor<24xf32>) -> (" + wide +
                    ", tensor<416xf32>, tensor<416xbf16>)",
                std::string(kConstants) + "    %f = stablehlo.convert %x : (" + narrow + ") -> " +
                    wide + "\n" + rows_to("b", "m", "tensor<24xf32>", wide) +
                    "    %c = stablehlo.subtract %f, %b : " + wide +
                    "\n    %p = stablehlo.multiply %c, %y : " + wide + "\n" +
                    reduce("s", "p", "zero", "add", "0", wide, "tensor<416xf32>") +
                    reduce("t", "c", "low", "maximum", "0", wide, "tensor<416xf32>") +
                    "    %u = stablehlo.convert %t : (tensor<416xf32>) -> tensor<416xbf16>\n"
                    "    return %p, %s, %u : " +
                    wide + ", tensor<416xf32>, tensor<416xbf16>");
  EXPECT_EQ(kinds_after_fusion(module, 1e-5), (Kinds{{"fused", 1}}));
}

// The same with a value of its own for each column, which is read before the rows are.
TEST(FuseRows, SumsOfManyColumnsWithABias) {
  const std::string shape = "tensor<24x416xbf16>", wide = "tensor<24x416xf32>";
  const Module module =
      module_of("(%x: " + shape + ", %v: tensor<416xbf16>) -> (" + shape + ", tensor<416xf32>)",
                std::string(kConstants) +
                    "    %b = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<416xbf16>) -> " +
                    shape + "\n    %a = stablehlo.add %x, %b : " + shape +
                    "\n    %p = stablehlo.multiply %a, %x : " + shape +
                    "\n    %f = stablehlo.convert %p : (" + shape + ") -> " + wide + "\n" +
                    reduce("s", "f", "zero", "add", "0", wide, "tensor<416xf32>") +
                    "    return %p, %s : " + shape + ", tensor<416xf32>");
  EXPECT_EQ(kinds_after_fusion(module, 1e-2), (Kinds{{"fused", 1}}));
}

// Two reductions of the same rows, in one pass.
TEST(FuseRows, Siblings) {
  const Module module =
      module_of("(%x: tensor<6x40xf32>) -> (tensor<6xf32>, tensor<6xf32>)",
                std::string(kConstants) + reduce("s", "x", "zero", "add", "1", kMatrix, kRow) +
                    reduce("m", "x", "low", "maximum", "1", kMatrix, kRow) +
                    "    return %s, %m : tensor<6xf32>, tensor<6xf32>");
  EXPECT_EQ(kinds_after_fusion(module), (Kinds{{"fused", 1}}));
}

// One reduction is along rows, the other along columns: nothing that both could be.
TEST(FuseRows, DifferentRowsStayApart) {
  const Module module =
      module_of("(%x: tensor<6x40xf32>) -> (tensor<6xf32>, tensor<40xf32>)",
                std::string(kConstants) + reduce("s", "x", "zero", "add", "1", kMatrix, kRow) +
                    reduce("m", "x", "low", "maximum", "0", kMatrix, "tensor<40xf32>") +
                    "    return %s, %m : tensor<6xf32>, tensor<40xf32>");
  EXPECT_EQ(kinds_after_fusion(module), (Kinds{{"reduce", 2}}));
}

// The product needs the sums in memory and is needed by what follows: no way around it.
TEST(FuseRows, NotAcrossWhatDependsOnIt) {
  const Module module = module_of(
      "(%x: tensor<6x40xf32>, %w: tensor<6x6xf32>) -> tensor<6x40xf32>",
      std::string(kConstants) + reduce("s", "x", "zero", "add", "1", kMatrix, kRow) +
          "    %d = stablehlo.dot_general %w, %s, contracting_dims = [1] x [0] : (tensor<6x6xf32>, "
          "tensor<6xf32>) -> tensor<6xf32>\n" +
          rows_to("sb", "s", kRow, kMatrix) + rows_to("db", "d", kRow, kMatrix) +
          "    %a = stablehlo.add %x, %sb : tensor<6x40xf32>\n"
          "    %r = stablehlo.multiply %a, %db : tensor<6x40xf32>\n"
          "    return %r : tensor<6x40xf32>");
  EXPECT_EQ(kinds_after_fusion(module), (Kinds{{"dot", 1}, {"elementwise", 1}, {"reduce", 1}}));
}

// What looks like a reduction of the rows' results reduces nothing.
TEST(FuseRows, NotWithReductionsOverOneElement) {
  const Module module =
      module_of("(%x: tensor<6x40xf32>, %y: tensor<6x1xf32>) -> tensor<6xf32>",
                std::string(kConstants) + reduce("s", "x", "zero", "add", "1", kMatrix, kRow) +
                    reduce("o", "y", "zero", "add", "1", "tensor<6x1xf32>", kRow) +
                    "    %r = stablehlo.multiply %s, %o : tensor<6xf32>\n"
                    "    return %r : tensor<6xf32>");
  EXPECT_EQ(kinds_after_fusion(module), (Kinds{{"fused", 1}, {"reduce", 1}}));
}

// Sums of 16-bit floats are kept in float32 between producer and reduction's end.
TEST(FuseRows, SumOfSquaresOfHalves) {
  const std::string t = "tensor<6x40xbf16>", u = "tensor<6xbf16>";
  const Module module = module_of(
      "(%x: tensor<6x40xbf16>) -> tensor<6xbf16>",
      "    %zero = stablehlo.constant dense<0.0> : tensor<bf16>\n"
      "    %q = stablehlo.multiply %x, %x : tensor<6x40xbf16>\n"
      "    %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : "
      "(tensor<6x40xbf16>, tensor<bf16>) -> tensor<6xbf16>\n"
      "    return %s : tensor<6xbf16>");
  EXPECT_EQ(kinds_after_fusion(module, 0.01), (Kinds{{"fused", 1}}));
}

}  // namespace
}  // namespace spmd::testing
