// Alike steps as one launch: what becomes a group, what has to stay apart, and that it still means
// the same, in both dialects and without a compiler.
#include "codegen/group_steps.h"

#include "codegen/kernels/compile_kernels.h"
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

using Kinds = std::map<std::string, int>;

struct Options {
  bool fuse = false, group = true;
};

plan::Plan grouped_plan_of(const Module& module, Options options = {},
                           std::vector<codegen::FusionNote>* notes = nullptr) {
  EmitInfo info = unsharded_info(module);
  if (options.fuse) info.fuse_rows = codegen::FuseRowsOptions{.parallelism = 2};
  info.group_steps = options.group;
  info.fusions = notes;
  plan::Plan plan = emit_plan(module, info);
  plan::verify_plan(plan);
  return plan;
}

// Checks that the grouped plan means the same, too.
Kinds kinds_after_grouping(const Module& module, Options options = {}) {
  const plan::Plan plan = grouped_plan_of(module, options);
  expect_meaning_of(plan, module, 2e-6, Kernels::kBothDialects);
  return kinds(plan);
}

std::string sum(const std::string& result, const std::string& of, const std::string& dim = "1",
                const std::string& rows = "6") {
  return "%" + result + " = stablehlo.reduce(%" + of +
         " init: %zero) applies stablehlo.add across dimensions = [" + dim +
         "] : (tensor<6x40xf32>, tensor<f32>) -> tensor<" + rows + "xf32>\n";
}
std::string rows_to_matrix(const std::string& result, const std::string& of) {
  return "%" + result + " = stablehlo.broadcast_in_dim %" + of +
         ", dims = [0] : (tensor<6xf32>) -> tensor<6x40xf32>\n";
}
constexpr const char* kFloatZero = "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n";

// Of the same size and the same function are the first two and the last but one.
TEST(GroupSteps, AlikeMaps) {
  const Module module = module_of(
      "(%a: tensor<40xf32>, %b: tensor<40xf32>, %c: tensor<24xf32>, %d: tensor<40xf32>, %e: "
      "tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>, tensor<24xf32>, tensor<40xf32>, "
      "tensor<40xf32>)",
      "%u = stablehlo.tanh %a : tensor<40xf32>\n"
      "%v = stablehlo.tanh %b : tensor<40xf32>\n"
      "%w = stablehlo.tanh %c : tensor<24xf32>\n"
      "%x = stablehlo.tanh %d : tensor<40xf32>\n"
      "%y = stablehlo.exponential %e : tensor<40xf32>\n"
      "return %u, %v, %w, %x, %y : tensor<40xf32>, tensor<40xf32>, tensor<24xf32>, "
      "tensor<40xf32>, tensor<40xf32>");
  EXPECT_EQ(kinds_after_grouping(module), (Kinds{{"grouped", 1}, {"elementwise", 2}}));
  EXPECT_EQ(kinds(grouped_plan_of(module, {.group = false})), (Kinds{{"elementwise", 5}}));
  std::vector<codegen::FusionNote> notes;
  grouped_plan_of(module, {}, &notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].members, 3);
  notes[0].place = "u.py:3";
  EXPECT_EQ(codegen::to_string(notes[0]), "u.py:3: 3 alike kernels in one launch");
}

// One launch, and one kernel whose arguments are those of all members.
TEST(GroupSteps, OneKernel) {
  const Module module =
      module_of("(%a: tensor<40xf32>, %b: tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>)",
                "%u = stablehlo.tanh %a : tensor<40xf32>\n"
                "%v = stablehlo.tanh %b : tensor<40xf32>\n"
                "return %u, %v : tensor<40xf32>, tensor<40xf32>");
  plan::Plan plan = grouped_plan_of(module);
  emit_kernels(plan, plan::KernelModule::CUDA);
  ASSERT_EQ(plan.kernels().kernels_size(), 1);
  EXPECT_EQ(plan.kernels().kernels(0).arguments(), 4);
  EXPECT_EQ(plan.kernels().kernels(0).blocks(), 2);
}

// Reductions along memory, with values kept for a row: softmax.
TEST(GroupSteps, FusedRows) {
  const auto softmax = [&](const std::string& x) {
    return sum("s" + x, "e" + x) + rows_to_matrix("b" + x, "s" + x) + "%r" + x +
           " = stablehlo.divide %e" + x + ", %b" + x + " : tensor<6x40xf32>\n";
  };
  const Module module = module_of(
      "(%x: tensor<6x40xf32>, %y: tensor<6x40xf32>) -> (tensor<6x40xf32>, tensor<6x40xf32>)",
      std::string(kFloatZero) + "%ex = stablehlo.exponential %x : tensor<6x40xf32>\n" +
          softmax("x") + "%ey = stablehlo.exponential %y : tensor<6x40xf32>\n" + softmax("y") +
          "return %rx, %ry : tensor<6x40xf32>, tensor<6x40xf32>");
  EXPECT_EQ(kinds_after_grouping(module, {.fuse = true}), (Kinds{{"grouped", 1}}));
}

// Sums of columns, with what is done to them: an optimizer's step of a bias.
TEST(GroupSteps, FusedColumns) {
  const auto step = [&](const std::string& x, const std::string& p) {
    return "%s" + x + " = stablehlo.reduce(%" + x +
           " init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16x40xf32>, "
           "tensor<f32>) -> tensor<40xf32>\n%m" +
           x + " = stablehlo.multiply %s" + x + ", %rate : tensor<40xf32>\n%r" + x +
           " = stablehlo.subtract %" + p + ", %m" + x + " : tensor<40xf32>\n";
  };
  const Module module = module_of(
      "(%x: tensor<16x40xf32>, %y: tensor<16x40xf32>, %p: tensor<40xf32>, %q: "
      "tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>)",
      std::string(kFloatZero) + "%rate = stablehlo.constant dense<0.5> : tensor<40xf32>\n" +
          step("x", "p") + step("y", "q") + "return %rx, %ry : tensor<40xf32>, tensor<40xf32>");
  EXPECT_EQ(kinds_after_grouping(module, {.fuse = true}), (Kinds{{"grouped", 1}}));
}

// The second sum needs the first one, the third neither.
TEST(GroupSteps, MembersAreIndependent) {
  const Module module = module_of(
      "(%x: tensor<6x40xf32>, %y: tensor<6x40xf32>) -> (tensor<6xf32>, tensor<6xf32>, "
      "tensor<6xf32>)",
      std::string(kFloatZero) + sum("s", "x") + rows_to_matrix("b", "s") +
          "%z = stablehlo.add %x, %b : tensor<6x40xf32>\n" + sum("t", "z") + sum("u", "y") +
          "return %s, %t, %u : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>");
  EXPECT_EQ(kinds_after_grouping(module),
            (Kinds{{"grouped", 1}, {"reduce", 1}, {"elementwise", 1}}));
}

// Of the exponentials one at a time is in memory; together they would take three times that.
TEST(GroupSteps, TakesNoMoreMemory) {
  std::string body = kFloatZero;
  for (const std::string x : {"x", "y", "z"})
    body += "%e" + x + " = stablehlo.exponential %" + x + " : tensor<6x40xf32>\n" +
            sum("r" + x, "e" + x) + sum("c" + x, "e" + x, "0", "40");
  const Module module = module_of(
      "(%x: tensor<6x40xf32>, %y: tensor<6x40xf32>, %z: tensor<6x40xf32>) -> (tensor<6xf32>, "
      "tensor<40xf32>, tensor<6xf32>, tensor<40xf32>, tensor<6xf32>, tensor<40xf32>)",
      body +
          "return %rx, %cx, %ry, %cy, %rz, %cz : tensor<6xf32>, tensor<40xf32>, tensor<6xf32>, "
          "tensor<40xf32>, tensor<6xf32>, tensor<40xf32>");
  const plan::Plan apart = grouped_plan_of(module, {.group = false});
  EXPECT_EQ(apart.arena_bytes(), 6 * 40 * 4);
  EXPECT_EQ(grouped_plan_of(module).arena_bytes(), apart.arena_bytes());
  EXPECT_EQ(kinds_after_grouping(module), (Kinds{{"elementwise", 3}, {"reduce", 6}}));
}

// Launches of more than a megabyte are worth their while.
TEST(GroupSteps, LargeStepsStayAlone) {
  const Module module = module_of(
      "(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> (tensor<512x512xf32>, "
      "tensor<512x512xf32>)",
      "%u = stablehlo.negate %a : tensor<512x512xf32>\n"
      "%v = stablehlo.negate %b : tensor<512x512xf32>\n"
      "return %u, %v : tensor<512x512xf32>, tensor<512x512xf32>");
  EXPECT_EQ(kinds(grouped_plan_of(module)), (Kinds{{"elementwise", 2}}));
}

// A loop's steps are grouped among themselves.
TEST(GroupSteps, WithinLoops) {
  const Module module =
      module_of("(%a: tensor<40xf32>, %b: tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>)",
                "%n = stablehlo.constant dense<3> : tensor<i32>\n"
                "%one = stablehlo.constant dense<1> : tensor<i32>\n"
                "%i = stablehlo.constant dense<0> : tensor<i32>\n"
                "%r:3 = stablehlo.while(%k = %i, %x = %a, %y = %b) : tensor<i32>, tensor<40xf32>, "
                "tensor<40xf32>\n"
                "cond {\n"
                "  %p = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                "  stablehlo.return %p : tensor<i1>\n"
                "} do {\n"
                "  %u = stablehlo.tanh %x : tensor<40xf32>\n"
                "  %v = stablehlo.tanh %y : tensor<40xf32>\n"
                "  %m = stablehlo.add %k, %one : tensor<i32>\n"
                "  stablehlo.return %m, %u, %v : tensor<i32>, tensor<40xf32>, tensor<40xf32>\n"
                "}\n"
                "return %r#1, %r#2 : tensor<40xf32>, tensor<40xf32>");
  const plan::Plan plan = grouped_plan_of(module);
  expect_meaning_of(plan, module, 2e-6, Kernels::kBothDialects);
  for (const plan::Step& step : plan.programs(0).body().steps())
    if (step.has_while_()) {
      EXPECT_EQ(kinds(step.while_().body()), (Kinds{{"grouped", 1}, {"elementwise", 1}}));
    }
  EXPECT_EQ(kinds(plan).at("while"), 1);
}

}  // namespace
}  // namespace spmd::testing
