// What attention is expanded to computes what the evaluator says that it is.
#include "passes/expand_attention.h"

#include "passes/compile.h"
#include "passes/cse.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

// Both passes on arguments of these sizes: batch, queries, heads, groups, head size, keys, width.
Module both_passes(const std::string& dtype, const std::array<int, 7>& n, bool causal) {
  const auto type = [&](std::initializer_list<int> shape, const std::string& of) {
    std::string text = "tensor<";
    for (int size : shape) text += std::to_string(size) + "x";
    return text + of + ">";
  };
  const auto [b, t, h, g, d, s, e] = n;
  const std::string sums = dtype == "f64" ? "f64" : "f32";
  const std::string query = type({b, t, h, g, d}, dtype), key = type({b, s, h, d}, dtype),
                    value = type({b, s, h, e}, dtype), out = type({b, t, h, g, e}, dtype),
                    statistics = type({b, h, g, t}, sums);
  const std::string attrs =
      std::string(" <{causal = ") + (causal ? "true" : "false") + ", scale = 0.3 : f64}> : (";
  const std::string operands = query + ", " + key + ", " + value;
  return program(
      {query, key, value, out},
      "%o:2 = \"spmd.attention\"(%x0, %x1, %x2)" + attrs + operands + ") -> (" + out + ", " +
          statistics + ")\n%g:3 = \"spmd.attention_backward\"(%x0, %x1, %x2, %o#0, %o#1, %x3)" +
          attrs + operands + ", " + out + ", " + statistics + ", " + out + ") -> (" + operands +
          ")\nreturn %o#0, %o#1, %g#0, %g#1, %g#2 : " + out + ", " + statistics + ", " + operands);
}

void expect_expands(const Module& before, double tolerance) {
  Module after = before.clone();
  EXPECT_TRUE(apply(expand_attention_pass(), after));
  EXPECT_EQ(count_ops(after, OpCode::kAttention) + count_ops(after, OpCode::kAttentionBackward), 0);
  expect_same_values(before, after, tolerance);
}

TEST(ExpandAttention, ValuesAreThoseOfTheOps) {
  for (const bool causal : {false, true}) {
    expect_expands(both_passes("f64", {2, 5, 3, 2, 4, 5, 4}, causal), 1e-12);
    expect_expands(both_passes("f32", {1, 7, 2, 1, 8, 5, 3}, causal), 1e-5);
    expect_expands(both_passes("f32", {2, 3, 1, 4, 1, 6, 2}, causal), 1e-5);
    // The output that the evaluator's backward pass uses is rounded: bfloat16 has 8 bits.
    expect_expands(both_passes("bf16", {2, 6, 2, 2, 4, 6, 4}, causal), 3e-2);
  }
}

TEST(ExpandAttention, BothPassesShareTheProbabilities) {
  Module module = both_passes("f32", {2, 5, 3, 2, 4, 5, 4}, true);
  EXPECT_TRUE(apply(expand_attention_pass(), module));
  apply(cse_pass(), module);
  EXPECT_EQ(count_ops(module, OpCode::kExponential), 1);
  // Queries by keys, probabilities by values, and the four of the gradients.
  EXPECT_EQ(count_ops(module, OpCode::kDotGeneral), 6);
}

int ops_left(Module& module, const CompileOptions& options, std::vector<Remark>* remarks) {
  PassContext context;
  context.options = options;
  run_passes(module, {expand_attention_pass()}, context, {.check_changed = true});
  *remarks = context.remarks;
  return count_ops(module, OpCode::kAttention) + count_ops(module, OpCode::kAttentionBackward);
}

TEST(ExpandAttention, OnlyWhatHasNoKernelAndSaysSo) {
  CompileOptions options;
  options.kernels = KernelTarget::kCuda;
  options.attention.library = true;
  std::vector<Remark> remarks;
  Module narrow = both_passes("bf16", {2, 16, 2, 2, 64, 16, 64}, true);
  EXPECT_EQ(ops_left(narrow, options, &remarks), 2);
  EXPECT_TRUE(remarks.empty());

  Module wide = both_passes("f32", {2, 16, 2, 2, 64, 16, 64}, true);
  EXPECT_EQ(ops_left(wide, options, &remarks), 0);
  ASSERT_EQ(remarks.size(), 1);
  EXPECT_EQ(remarks[0].text,
            "2 attention ops are done by matrix products and a softmax: cuDNN's kernels are for "
            "16-bit floats and heads of a multiple of 8 numbers, up to 128");

  options.attention.library = false;
  options.why_no_attention_library = "libcudnn.so.9: not found";
  Module without = both_passes("bf16", {2, 16, 2, 2, 64, 16, 64}, true);
  EXPECT_EQ(ops_left(without, options, &remarks), 0);
  ASSERT_EQ(remarks.size(), 1);
  EXPECT_EQ(remarks[0].text,
            "2 attention ops are done by matrix products and a softmax: libcudnn.so.9: not found");
}

TEST(ExpandAttention, NothingThatCompiledKernelsDo) {
  CompileOptions options;
  options.kernels = KernelTarget::kCuda;
  options.attention = {.library = true, .compiler = true};
  std::vector<Remark> remarks;
  Module wide = both_passes("f32", {2, 16, 2, 2, 64, 16, 256}, true);
  EXPECT_EQ(ops_left(wide, options, &remarks), 2);
  EXPECT_TRUE(remarks.empty());

  Module double_precision = both_passes("f64", {2, 16, 2, 2, 64, 16, 64}, true);
  EXPECT_EQ(ops_left(double_precision, options, &remarks), 0);
  ASSERT_EQ(remarks.size(), 1);
  EXPECT_EQ(remarks[0].text,
            "2 attention ops are done by matrix products and a softmax: kernels of attention are "
            "for floats of 16 and 32 bits and heads of up to 256 numbers");

  // What cuDNN would do faster.
  options.attention.library = false;
  options.why_no_attention_library = "libcudnn.so.9: not found";
  Module narrow = both_passes("bf16", {2, 16, 2, 2, 64, 16, 64}, true);
  EXPECT_EQ(ops_left(narrow, options, &remarks), 2);
  ASSERT_EQ(remarks.size(), 1);
  EXPECT_EQ(remarks[0].text,
            "2 attention ops are done by kernels in float32, which are slower than cuDNN's: "
            "libcudnn.so.9: not found");
}

// Memory is planned for what runs: between the passes lie the output, 2 heads of 256 queries of 16
// numbers, and as many statistics; of the 2 x 256 x 256 scores there is nothing.
TEST(ExpandAttention, CompiledKernelsNeedNoMemoryForScores) {
  const std::string type = "tensor<1x256x2x1x16xf32>", key = "tensor<1x256x2x16xf32>",
                    statistics = "tensor<1x2x1x256xf32>",
                    attrs = " <{causal = true, scale = 0.25 : f64}> : (";
  const std::string operands = type + ", " + key + ", " + key;
  Module module = program(
      {type, key, key, type},
      "%o:2 = \"spmd.attention\"(%x0, %x1, %x2)" + attrs + operands + ") -> (" + type + ", " +
          statistics + ")\n%g:3 = \"spmd.attention_backward\"(%x0, %x1, %x2, %o#0, %o#1, %x3)" +
          attrs + operands + ", " + type + ", " + statistics + ", " + type + ") -> (" + operands +
          ")\nreturn %g#0, %g#1, %g#2 : " + operands);
  CompileOptions options;
  options.kernels = KernelTarget::kCuda;
  options.kernel_architecture = "sm_90";
  const int64_t scores = 2 * 256 * 256 * 4, output = 2 * 256 * 16 * 4, sums = 2 * 256 * 4;
  EXPECT_GE(compile(module.clone(), options).plan.arena_bytes(), scores);
  options.attention.compiler = true;
  EXPECT_EQ(compile(module.clone(), options).plan.arena_bytes(), output + sums);
}

}  // namespace
}  // namespace spmd::testing
