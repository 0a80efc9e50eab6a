// Compiled kernels of attention against the evaluator, and the device's own loops for attention.
#include <fmt/format.h>

#include "codegen/kernels/compile_kernels.h"
#include "codegen/kernels/nvrtc.h"
#include "tests/codegen/attention_cases.h"
#include "tests/codegen/compiled_cases.h"

namespace spmd::testing {
namespace {

struct AttentionCase {
  AttentionShape shape;
  const char* dtype;
  bool causal;
};

// Of float32, what sums in another order differ by; of 16 bits, a handful of roundings: the
// evaluator rounds probabilities, the kernels do not.
double tolerance_of(const std::string& dtype) {
  if (dtype == "f32") return 2e-6;
  return dtype == "f16" ? 4e-3 : 2e-2;
}

// Batch, queries, heads, group, head size, keys, value size.
const AttentionCase kCases[] = {
    // Whole tiles, and one more or less.
    {{1, 64, 1, 1, 64, 64, 64}, "f32", true},
    {{1, 65, 1, 1, 64, 127, 64}, "f32", false},
    {{2, 63, 2, 1, 64, 65, 64}, "f32", true},
    // One query, one key, and queries that see more keys than there are.
    {{2, 1, 2, 1, 8, 1, 8}, "f32", false},
    {{1, 1, 1, 2, 16, 130, 16}, "f32", false},
    {{1, 150, 1, 1, 16, 40, 16}, "f32", true},
    {{1, 40, 1, 1, 16, 150, 16}, "f32", true},
    // Heads of all sizes, groups.
    {{2, 37, 2, 3, 8, 37, 8}, "f32", true},
    {{1, 21, 1, 2, 80, 33, 48}, "f32", false},
    {{1, 70, 1, 1, 128, 70, 128}, "f32", true},
    {{1, 35, 1, 2, 256, 35, 256}, "f32", true},
    {{1, 20, 1, 1, 256, 20, 8}, "f32", false},
    // Numbers that are no vectors.
    {{2, 19, 1, 2, 5, 23, 3}, "f32", true},
    {{1, 18, 1, 1, 1, 17, 33}, "f32", false},
    {{1, 66, 1, 1, 64, 66, 64}, "bf16", true},
    {{1, 30, 2, 2, 60, 41, 20}, "bf16", false},
    {{1, 34, 1, 1, 256, 34, 256}, "f16", true},
    {{1, 33, 2, 1, 7, 40, 9}, "f16", false},
};

TEST(AttentionKernels, OfCudaComputeWhatTheEvaluatorDoes) {
  CompiledCases compiled(CompiledCases::Dialect::kCuda, 2 * static_cast<int>(std::size(kCases)));
  std::mt19937 random(11);
  for (const AttentionCase& attention : kCases) {
    const Module module = attention_layer(attention.shape, attention.dtype, attention.causal);
    const std::vector<Literal> arguments = random_arguments(module, random);
    compiled.add(module, plan_of(module), arguments, evaluate(module, arguments),
                 tolerance_of(attention.dtype));
  }
}

// The same on a GPU. A stand-in for one finds no kernels, and has the host do the steps.
TEST(AttentionKernels, OnAGpuComputeWhatTheEvaluatorDoes) {
  const std::string architecture = gpu_architecture();
  if (architecture.empty()) GTEST_SKIP() << "[SKIP] runs on the CPU";
  for (const AttentionCase& attention : kCases) {
    SCOPED_TRACE(::testing::PrintToString(attention.shape) + " of " + attention.dtype);
    const Module module = attention_layer(attention.shape, attention.dtype, attention.causal);
    plan::Plan plan = plan_of(module);
    std::string note;
    compile_cuda_kernels(plan, {.architecture = architecture}, &note);
    ASSERT_EQ(note, "");
    EXPECT_EQ(compiled_steps(plan), 2);
    expect_meaning_of(plan, module, tolerance_of(attention.dtype));
  }
}

// Slices of one projection, gradients that are joined in place: views with strides and offsets.
TEST(AttentionKernels, ReadAndWriteWhereThingsLie) {
  const Module module =
      module_of("(%x: tensor<2x18x36xf32>, %d: tensor<2x18x2x2x4xf32>) -> tensor<2x18x36xf32>", R"(
    %qs = stablehlo.slice %x [0:2, 0:18, 0:16] : (tensor<2x18x36xf32>) -> tensor<2x18x16xf32>
    %ks = stablehlo.slice %x [0:2, 0:18, 16:24] : (tensor<2x18x36xf32>) -> tensor<2x18x8xf32>
    %vs = stablehlo.slice %x [0:2, 0:18, 25:33] : (tensor<2x18x36xf32>) -> tensor<2x18x8xf32>
    %ws = stablehlo.slice %x [0:2, 0:18, 32:36] : (tensor<2x18x36xf32>) -> tensor<2x18x4xf32>
    %q = stablehlo.reshape %qs : (tensor<2x18x16xf32>) -> tensor<2x18x2x2x4xf32>
    %k = stablehlo.reshape %ks : (tensor<2x18x8xf32>) -> tensor<2x18x2x4xf32>
    %v = stablehlo.reshape %vs : (tensor<2x18x8xf32>) -> tensor<2x18x2x4xf32>
    %o:2 = "spmd.attention"(%q, %k, %v) <{causal = true, scale = 0.5 : f64}> : (tensor<2x18x2x2x4xf32>, tensor<2x18x2x4xf32>, tensor<2x18x2x4xf32>) -> (tensor<2x18x2x2x4xf32>, tensor<2x2x2x18xf32>)
    %g:3 = "spmd.attention_backward"(%q, %k, %v, %o#0, %o#1, %d) <{causal = true, scale = 0.5 : f64}> : (tensor<2x18x2x2x4xf32>, tensor<2x18x2x4xf32>, tensor<2x18x2x4xf32>, tensor<2x18x2x2x4xf32>, tensor<2x2x2x18xf32>, tensor<2x18x2x2x4xf32>) -> (tensor<2x18x2x2x4xf32>, tensor<2x18x2x4xf32>, tensor<2x18x2x4xf32>)
    %0 = stablehlo.reshape %g#0 : (tensor<2x18x2x2x4xf32>) -> tensor<2x18x16xf32>
    %1 = stablehlo.reshape %g#1 : (tensor<2x18x2x4xf32>) -> tensor<2x18x8xf32>
    %2 = stablehlo.reshape %g#2 : (tensor<2x18x2x4xf32>) -> tensor<2x18x8xf32>
    %3 = stablehlo.concatenate %0, %ws, %1, %2, dim = 2 : (tensor<2x18x16xf32>, tensor<2x18x4xf32>, tensor<2x18x8xf32>, tensor<2x18x8xf32>) -> tensor<2x18x36xf32>
    return %3 : tensor<2x18x36xf32>)");
  const plan::Plan plan = plan_of(module);
  EXPECT_EQ(plan.programs(0).body().steps(0).attention().value().offset(), 25);
  std::mt19937 random(3);
  const std::vector<Literal> arguments = random_arguments(module, random);
  CompiledCases compiled(CompiledCases::Dialect::kCuda, 2);
  compiled.add(module, plan, arguments, evaluate(module, arguments), 2e-6);
}

// Steps without a kernel: a CPU's loops, or those of the host that a GPU falls back on.
TEST(AttentionKernels, DevicesHaveLoops) {
  for (const AttentionCase& attention : kCases) {
    SCOPED_TRACE(::testing::PrintToString(attention.shape) + " of " + attention.dtype);
    const Module module = attention_layer(attention.shape, attention.dtype, attention.causal);
    expect_meaning_of(plan_of(module), module, tolerance_of(attention.dtype));
  }
}

// Nothing is kept in memory for want of registers, and a multiprocessor of sm_90 holds two blocks.
TEST(AttentionKernels, StayInRegisters) {
  std::string reason;
  const auto compiler = codegen::kernels::Nvrtc::find(&reason);
  if (!compiler) GTEST_SKIP() << "[SKIP] " << reason;
  PlanBundle bundle;
  const std::pair<int64_t, const char*> heads[] = {{64, "f32"}, {128, "f32"}, {256, "bf16"}};
  for (const auto& [size, dtype] : heads)
    bundle.add(plan_of(attention_layer({8, 1024, 12, 1, size, 1024, size}, dtype, true)));
  const std::string source = emit_kernels(bundle.whole(), plan::KernelModule::CUDA);
  std::string error;
  std::vector<codegen::kernels::KernelResources> resources;
  ASSERT_TRUE(compiler->compile(source, "sm_90", &error, &resources)) << error;
  const auto& kernels = bundle.whole().kernels().kernels();
  ASSERT_EQ(resources.size(), static_cast<size_t>(kernels.size()));
  EXPECT_EQ(kernels.size(), 6);
  for (const auto& kernel : resources) {
    EXPECT_EQ(kernel.spill_bytes, 0) << kernel.name;
    EXPECT_LE(kernel.registers, 128) << kernel.name;
  }
  for (const plan::Kernel& kernel : kernels) EXPECT_LE(kernel.shared_bytes(), 99 << 10);
}

}  // namespace
}  // namespace spmd::testing
