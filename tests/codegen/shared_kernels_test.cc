// Compiled kernels whose units several threads share: the bits are those of one thread.
#include <cstring>

#include "codegen/kernels/compile_kernels.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan_testing.h"

namespace spmd {
namespace {

using namespace testing;

struct Case {
  const char* what;
  std::string signature, body;
  int64_t units;  // of its largest kernel
};

// The kernels of a step large enough for several threads, by mapping.
std::vector<Case> cases() {
  const std::string exponentials =
      "    %b = stablehlo.exponential %a : TENSOR\n"
      "    %c = stablehlo.tanh %b : TENSOR\n"
      "    return %c : TENSOR";
  const auto of = [](std::string text, const std::string& type) {
    for (size_t at; (at = text.find("TENSOR")) != std::string::npos;) text.replace(at, 6, type);
    return text;
  };
  const auto flat = [&](const std::string& type) { return of("(%a: TENSOR) -> TENSOR", type); };
  const auto sum = [](const std::string& from, const std::string& to, int dim) {
    return "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
           "    %e = stablehlo.exponential %a : " +
           from +
           "\n"
           "    %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [" +
           std::to_string(dim) + "] : (" + from + ", tensor<f32>) -> " + to +
           "\n    return %s : " + to;
  };
  return {
      {"flat, whole units", flat("tensor<262144xf32>"), of(exponentials, "tensor<262144xf32>"),
       262144 / 64},
      {"flat, the last unit shorter", flat("tensor<262147xf32>"),
       of(exponentials, "tensor<262147xf32>"), 262144 / 64 + 1},
      {"transposed", "(%a: tensor<601x503xf32>) -> tensor<503x601xf32>",
       "    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<601x503xf32>) -> "
       "tensor<503x601xf32>\n    %n = stablehlo.exponential %t : tensor<503x601xf32>\n"
       "    return %n : tensor<503x601xf32>",
       503},
      {"rows", "(%a: tensor<301x1003xf32>) -> tensor<301xf32>",
       sum("tensor<301x1003xf32>", "tensor<301xf32>", 1), 301},
      {"column tiles", "(%a: tensor<300x1603xf32>) -> tensor<1603xf32>",
       sum("tensor<300x1603xf32>", "tensor<1603xf32>", 0), 1603 / 64 + 1},
      {"column tiles under an outer dimension", "(%a: tensor<70x40x129xf32>) -> tensor<70x129xf32>",
       sum("tensor<70x40x129xf32>", "tensor<70x129xf32>", 1), 70},
  };
}

TEST(SharedKernels, OfEachMapping) {
  std::mt19937 random(7);
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.what);
    const Module module = module_of(c.signature, c.body);
    plan::Plan plan = fused_plan_of(module);
    std::string note;
    compile_host_kernels(plan, {}, &note);
    ASSERT_EQ(note, "");
    int64_t units = 0, parts = 0;
    for (const plan::Kernel& kernel : plan.kernels().kernels()) {
      units = std::max(units, kernel.units());
      parts = std::max(parts, kernel.parts());
    }
    EXPECT_EQ(units, c.units);
    EXPECT_GT(parts, 1);
    const RankValues arguments = {random_arguments(module, random)};
    const RankValues one = run_plan(module, plan, arguments, 1);
    for (int threads : {2, 3, 5}) {
      const RankValues shared = run_plan(module, plan, arguments, threads);
      ASSERT_EQ(shared[0].size(), one[0].size());
      for (size_t i = 0; i < one[0].size(); ++i)
        EXPECT_EQ(std::memcmp(shared[0][i].data(), one[0][i].data(), one[0][i].stored_bytes()), 0)
            << threads << " threads";
    }
    drop_kernels(plan);
    expect_close(one[0], run_plan(module, plan, arguments, 1)[0], 1e-5);
  }
}

// Kernels that differ in their number of units are one function.
TEST(SharedKernels, SizesShareAFunction) {
  Module module = module_of(
      "(%a: tensor<262144xf32>, %b: tensor<524288xf32>, %c: tensor<262145xf32>) -> "
      "(tensor<262144xf32>, tensor<524288xf32>, tensor<262145xf32>)",
      "    %x = stablehlo.tanh %a : tensor<262144xf32>\n"
      "    %y = stablehlo.tanh %b : tensor<524288xf32>\n"
      "    %z = stablehlo.tanh %c : tensor<262145xf32>\n"
      "    return %x, %y, %z : tensor<262144xf32>, tensor<524288xf32>, tensor<262145xf32>");
  plan::Plan plan = plan_of(module);
  emit_kernels(plan, plan::KernelModule::HOST);
  ASSERT_EQ(plan.kernels().kernels_size(), 3);
  EXPECT_EQ(plan.kernels().kernels(0).name(), plan.kernels().kernels(1).name());
  EXPECT_NE(plan.kernels().kernels(0).name(), plan.kernels().kernels(2).name());
  EXPECT_EQ(plan.kernels().kernels(1).units(), 2 * plan.kernels().kernels(0).units());
}

}  // namespace
}  // namespace spmd
