// Attention as a step of a Plan: its views are the operands as they lie, and a device that has a
// kernel for it computes what the evaluator says.
#include "codegen/attention_kernels.h"
#include "tests/codegen/attention_cases.h"
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

using codegen::AttentionKernel;

// What does both passes on a target.
AttentionKernel kernel_of(const Module& module, const codegen::AttentionTarget& target) {
  std::vector<AttentionKernel> kinds;
  walk(module.main(), [&](OpId id) {
    const Op& op = module.main().op(id);
    if (family_of(op.code) == OpFamily::kAttention)
      kinds.push_back(codegen::attention_kernel(module.main(), op, target));
  });
  EXPECT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds[0], kinds[1]);
  // A Plan's steps say the same.
  const plan::Plan plan = plan_of(module);
  for (const plan::Step& step : plan.programs(0).body().steps())
    EXPECT_EQ(codegen::attention_kernel(step, target), kinds[0]);
  return kinds[0];
}

TEST(AttentionSteps, OneForEachPass) {
  const Module module = attention_layer({2, 16, 3, 2, 64, 16, 64}, "bf16", true);
  const plan::Plan plan = plan_of(module);
  EXPECT_EQ(kinds(plan)["attention"], 1);
  EXPECT_EQ(kinds(plan)["attention_backward"], 1);
  EXPECT_EQ(plan.programs(0).body().steps_size(), 2);
}

// Parts of one projection are read where they lie.
TEST(AttentionSteps, SlicesAreViews) {
  const plan::Plan plan =
      plan_of(module_of("(%x: tensor<2x16x384xbf16>) -> tensor<2x16x2x1x64xbf16>", R"(
    %qs = stablehlo.slice %x [0:2, 0:16, 0:128] : (tensor<2x16x384xbf16>) -> tensor<2x16x128xbf16>
    %ks = stablehlo.slice %x [0:2, 0:16, 128:256] : (tensor<2x16x384xbf16>) -> tensor<2x16x128xbf16>
    %vs = stablehlo.slice %x [0:2, 0:16, 256:384] : (tensor<2x16x384xbf16>) -> tensor<2x16x128xbf16>
    %q = stablehlo.reshape %qs : (tensor<2x16x128xbf16>) -> tensor<2x16x2x1x64xbf16>
    %k = stablehlo.reshape %ks : (tensor<2x16x128xbf16>) -> tensor<2x16x2x64xbf16>
    %v = stablehlo.reshape %vs : (tensor<2x16x128xbf16>) -> tensor<2x16x2x64xbf16>
    %o:2 = "spmd.attention"(%q, %k, %v) <{causal = true, scale = 0.125 : f64}> : (tensor<2x16x2x1x64xbf16>, tensor<2x16x2x64xbf16>, tensor<2x16x2x64xbf16>) -> (tensor<2x16x2x1x64xbf16>, tensor<2x2x1x16xf32>)
    return %o#0 : tensor<2x16x2x1x64xbf16>)"));
  ASSERT_EQ(plan.programs(0).body().steps_size(), 1);
  const plan::Attention& step = plan.programs(0).body().steps(0).attention();
  EXPECT_EQ(step.key().buffer(), step.query().buffer());
  EXPECT_EQ(step.key().offset(), 128);
  EXPECT_EQ(step.key().strides(1), 384);
}

// Gradients go where they are joined; statistics stay as the library has them.
TEST(AttentionSteps, GradientsAreWrittenInPlace) {
  const plan::Plan plan = plan_of(module_of(
      "(%q: tensor<2x16x2x1x64xbf16>, %k: tensor<2x16x2x64xbf16>, %o: tensor<2x16x2x1x64xbf16>, "
      "%s: tensor<2x2x1x16xf32>) -> tensor<2x16x384xbf16>",
      R"(
    %g:3 = "spmd.attention_backward"(%q, %k, %k, %o, %s, %o) <{causal = true, scale = 0.125 : f64}> : (tensor<2x16x2x1x64xbf16>, tensor<2x16x2x64xbf16>, tensor<2x16x2x64xbf16>, tensor<2x16x2x1x64xbf16>, tensor<2x2x1x16xf32>, tensor<2x16x2x1x64xbf16>) -> (tensor<2x16x2x1x64xbf16>, tensor<2x16x2x64xbf16>, tensor<2x16x2x64xbf16>)
    %0 = stablehlo.reshape %g#0 : (tensor<2x16x2x1x64xbf16>) -> tensor<2x16x128xbf16>
    %1 = stablehlo.reshape %g#1 : (tensor<2x16x2x64xbf16>) -> tensor<2x16x128xbf16>
    %2 = stablehlo.reshape %g#2 : (tensor<2x16x2x64xbf16>) -> tensor<2x16x128xbf16>
    %3 = stablehlo.concatenate %0, %1, %2, dim = 2 : (tensor<2x16x128xbf16>, tensor<2x16x128xbf16>, tensor<2x16x128xbf16>) -> tensor<2x16x384xbf16>
    return %3 : tensor<2x16x384xbf16>)"));
  ASSERT_EQ(plan.programs(0).body().steps_size(), 1);
  const plan::AttentionBackward& step = plan.programs(0).body().steps(0).attention_backward();
  EXPECT_EQ(step.d_key().buffer(), step.d_query().buffer());
  EXPECT_EQ(step.d_key().offset(), 128);
  EXPECT_EQ(step.d_value().strides(1), 384);
}

TEST(AttentionSteps, WhoDoesThem) {
  const codegen::AttentionTarget nothing, library{.library = true}, compiler{.compiler = true},
      both{true, true};
  const Module fits = attention_layer({2, 16, 3, 1, 64, 16, 64}, "bf16", true);
  EXPECT_EQ(kernel_of(fits, nothing), AttentionKernel::kNone);
  EXPECT_EQ(kernel_of(fits, library), AttentionKernel::kLibrary);
  EXPECT_EQ(kernel_of(fits, compiler), AttentionKernel::kCompiled);
  EXPECT_EQ(kernel_of(fits, both), AttentionKernel::kLibrary);
  const std::pair<AttentionShape, const char*> ours[] = {{{2, 16, 3, 1, 64, 16, 64}, "f32"},
                                                         {{2, 16, 3, 1, 60, 16, 64}, "bf16"},
                                                         {{2, 16, 3, 1, 64, 16, 256}, "f16"},
                                                         {{2, 1, 3, 1, 64, 1, 64}, "bf16"}};
  for (const auto& [shape, dtype] : ours) {
    const Module module = attention_layer(shape, dtype, true);
    EXPECT_EQ(kernel_of(module, library), AttentionKernel::kNone);
    EXPECT_EQ(kernel_of(module, both), AttentionKernel::kCompiled);
  }
  EXPECT_EQ(kernel_of(attention_layer({2, 16, 3, 1, 257, 16, 64}, "f32", true), both),
            AttentionKernel::kNone);
  EXPECT_EQ(kernel_of(attention_layer({0, 16, 3, 1, 64, 16, 64}, "f32", true), both),
            AttentionKernel::kNone);
}

class AttentionMeaning : public ::testing::TestWithParam<AttentionShape> {};

TEST_P(AttentionMeaning, OnADeviceThatHasAKernel) {
  const std::string why_not = why_no_attention();
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  for (const char* dtype : {"bf16", "f16"}) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(std::string(dtype) + (causal ? " causal" : ""));
      const Module module = attention_layer(GetParam(), dtype, causal);
      // Of 8 bits, a handful of roundings.
      expect_meaning_of(plan_of(module), module, 2e-2);
    }
  }
}

// Batch, queries, heads, group, head size, keys, value size.
constexpr AttentionShape kShapes[] = {
    {1, 128, 1, 1, 64, 128, 64}, {2, 256, 3, 1, 64, 256, 64}, {1, 256, 2, 4, 128, 256, 128},
    {3, 64, 5, 1, 128, 64, 128}, {2, 96, 2, 2, 32, 96, 32},
};
INSTANTIATE_TEST_SUITE_P(Shapes, AttentionMeaning, ::testing::ValuesIn(kShapes),
                         [](const auto& info) { return std::to_string(info.index); });

}  // namespace
}  // namespace spmd::testing
