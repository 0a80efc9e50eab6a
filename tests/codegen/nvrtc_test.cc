// Kernels of the CUDA dialect through NVRTC: that they compile, and what they take.
#include "codegen/kernels/nvrtc.h"

#include <fmt/format.h>

#include "codegen/kernels/compile_kernels.h"
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

using codegen::kernels::KernelResources;
using codegen::kernels::Nvrtc;
using codegen::kernels::parse_resources;

TEST(KernelResources, AreReadFromTheAssemblersReport) {
  const std::vector<KernelResources> found = parse_resources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k0_elementwise' for 'sm_90'\n"
      "ptxas info    : Function properties for k0_elementwise\n"
      "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 0 barriers, 8 bytes cumulative stack size\n"
      "ptxas info    : Compiling entry function 'k1_reduce' for 'sm_90'\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 18 registers, used 1 barriers, 128 bytes smem\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "k0_elementwise");
  EXPECT_EQ(found[0].registers, 32);
  EXPECT_EQ(found[0].shared_bytes, 0);
  EXPECT_EQ(found[0].spill_bytes, 28);
  EXPECT_EQ(found[1].name, "k1_reduce");
  EXPECT_EQ(found[1].registers, 18);
  EXPECT_EQ(found[1].shared_bytes, 128);
  EXPECT_EQ(found[1].spill_bytes, 0);
}

class NvrtcKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    compiler_ = Nvrtc::find(&reason);
    if (!compiler_) GTEST_SKIP() << "[SKIP] " << reason;
  }

  std::vector<KernelResources> resources_of(plan::Plan plan) {
    const std::string source = emit_kernels(plan, plan::KernelModule::CUDA);
    std::string error;
    std::vector<KernelResources> resources;
    const auto code = compiler_->compile(source, "sm_90", &error, &resources);
    EXPECT_TRUE(code.has_value()) << error << "\n" << source;
    EXPECT_EQ(resources.size(), static_cast<size_t>(plan.kernels().kernels_size()));
    return resources;
  }

  std::optional<Nvrtc> compiler_;
};

// Nothing is kept in memory for want of registers, and a multiprocessor holds eight blocks of 256
// threads or more.
TEST_F(NvrtcKernels, StayInRegisters) {
  for (const KernelResources& kernel : resources_of(plan_of(module_of(
           "(%x: tensor<512x1024xbf16>, %w: tensor<1024xf32>) -> tensor<512x1024xbf16>",
           "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
           "%f = stablehlo.convert %x : (tensor<512x1024xbf16>) -> tensor<512x1024xf32>\n"
           "%t = stablehlo.tanh %f : tensor<512x1024xf32>\n"
           "%s = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [1]\n"
           "  : (tensor<512x1024xf32>, tensor<f32>) -> tensor<512xf32>\n"
           "%b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<512xf32>) -> "
           "tensor<512x1024xf32>\n"
           "%v = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<1024xf32>) -> "
           "tensor<512x1024xf32>\n"
           "%d = stablehlo.divide %t, %b : tensor<512x1024xf32>\n"
           "%m = stablehlo.multiply %d, %v : tensor<512x1024xf32>\n"
           "%r = stablehlo.convert %m : (tensor<512x1024xf32>) -> tensor<512x1024xbf16>\n"
           "return %r : tensor<512x1024xbf16>")))) {
    EXPECT_EQ(kernel.spill_bytes, 0) << kernel.name;
    EXPECT_LE(kernel.registers, 64) << kernel.name;
    EXPECT_LE(kernel.shared_bytes, 16 << 10) << kernel.name;
  }
}

// Rows too long for their exponentials to stay in registers compute them again, from what they
// need.
TEST_F(NvrtcKernels, LongRowsComputeAgainWhatTheyCannotKeep) {
  const Module module = module_of(
      "(%x: tensor<64x2048xf32>) -> tensor<64x2048xf32>",
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%l = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
      "%m = stablehlo.reduce(%x init: %l) applies stablehlo.maximum across dimensions = [1]\n"
      "  : (tensor<64x2048xf32>, tensor<f32>) -> tensor<64xf32>\n"
      "%b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x2048xf32>\n"
      "%d = stablehlo.subtract %x, %b : tensor<64x2048xf32>\n"
      "%e = stablehlo.exponential %d : tensor<64x2048xf32>\n"
      "%s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1]\n"
      "  : (tensor<64x2048xf32>, tensor<f32>) -> tensor<64xf32>\n"
      "%t = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x2048xf32>\n"
      "%r = stablehlo.divide %e, %t : tensor<64x2048xf32>\n"
      "return %r : tensor<64x2048xf32>");
  EmitInfo info = unsharded_info(module);
  info.fuse_rows = codegen::FuseRowsOptions{};
  for (const KernelResources& kernel : resources_of(emit_plan(module, info)))
    EXPECT_EQ(kernel.spill_bytes, 0) << kernel.name;
}

// Sums of columns, of which a thread has several.
TEST_F(NvrtcKernels, SumsOfColumnsStayInRegisters) {
  const Module module =
      module_of("(%x: tensor<512x1600xbf16>, %y: tensor<512x1600xf32>) -> tensor<1600xf32>",
                "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                "%f = stablehlo.convert %x : (tensor<512x1600xbf16>) -> tensor<512x1600xf32>\n"
                "%p = stablehlo.multiply %f, %y : tensor<512x1600xf32>\n"
                "%s = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0]\n"
                "  : (tensor<512x1600xf32>, tensor<f32>) -> tensor<1600xf32>\n"
                "return %s : tensor<1600xf32>");
  for (const KernelResources& kernel : resources_of(fused_plan_of(module))) {
    EXPECT_EQ(kernel.spill_bytes, 0) << kernel.name;
    EXPECT_LE(kernel.registers, 64) << kernel.name;
    EXPECT_LE(kernel.shared_bytes, 16 << 10) << kernel.name;
  }
}

// 1,900 members of two arguments each: nearly all that a launch can have.
TEST_F(NvrtcKernels, LargeGroupsKeepTheirArgumentsWhereTheyAre) {
  std::string signature, results, body, values;
  for (int m = 0; m < 1900; ++m) {
    const std::string comma = m > 0 ? ", " : "";
    signature += fmt::format("{0}%a{1}: tensor<40xf32>", comma, m);
    results += comma + "tensor<40xf32>";
    body += fmt::format("%r{0} = stablehlo.negate %a{0} : tensor<40xf32>\n", m);
    values += fmt::format("{}%r{}", comma, m);
  }
  const Module module = module_of(fmt::format("({}) -> ({})", signature, results),
                                  fmt::format("{}return {} : {}", body, values, results));
  EmitInfo info = unsharded_info(module);
  info.group_steps = true;
  const plan::Plan plan = emit_plan(module, info);
  EXPECT_EQ(plan.programs(0).body().steps_size(), 1);
  for (const KernelResources& kernel : resources_of(plan)) {
    EXPECT_EQ(kernel.spill_bytes, 0) << kernel.name;
    EXPECT_LE(kernel.registers, 32) << kernel.name;
  }
}

TEST_F(NvrtcKernels, ErrorsAreQuoted) {
  std::string error;
  EXPECT_FALSE(compiler_->compile("__global__ void k() { nonsense(); }", "sm_90", &error));
  EXPECT_NE(error.find("identifier \"nonsense\" is undefined"), std::string::npos) << error;
}

}  // namespace
}  // namespace spmd::testing
