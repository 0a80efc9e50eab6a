// Kernels as text, which steps get one, and which share one.
#include <fmt/format.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "codegen/kernels/compile_kernels.h"
#include "codegen/kernels/emit.h"
#include "codegen/kernels/lower.h"
#include "tests/codegen/compiled_cases.h"
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

using namespace codegen::kernels;

plan::Step step_of(const std::string& text) {
  plan::Step step;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &step));
  return step;
}

std::optional<codegen::kernels::Kernel> kernel_of(const std::string& text) {
  return lower(step_of(text), [](int buffer) { return buffer >= 100; });
}

std::string emitted(const Dialect& dialect, const std::string& text) {
  std::string source;
  const std::optional<codegen::kernels::Kernel> kernel = kernel_of(text);
  EXPECT_TRUE(kernel);
  if (kernel) dialect.emit(*kernel, "k", source);
  return source;
}

// out = x * 2, x and out of `shape` elements at strides 1.
std::string doubled(int size) {
  const std::string n = std::to_string(size);
  return "elementwise { shape: " + n +
         " program { inputs: F32"
         "   instructions { op: CONSTANT dtype: F32 constant: '\\000\\000\\000\\100' }"
         "   instructions { op: MULTIPLY dtype: F32 args: 0 args: 1 } outputs: 2 }"
         " inputs { buffer: 0 dtype: F32 strides: 1 } outputs { buffer: 1 dtype: F32 strides: 1 } "
         "}";
}

TEST(KernelText, ElementwiseInCpp) {
  EXPECT_EQ(emitted(cpp_dialect(), doubled(6)),
            R"(extern "C" void k(void* const* args, int64_t begin, int64_t end) {
  const float* const p0 = static_cast<const float*>(args[0]);
  float* const p1 = static_cast<float*>(args[1]);
#pragma GCC ivdep
  for (int64_t r0 = 0; r0 < 6; ++r0) {
    const float v0 = p0[r0];
    const float v2 = v0 * 2.0f;
    p1[r0] = v2;
  }
}
)");
}

// Large enough for several threads: a call does some of its units of 64 elements.
TEST(KernelText, RangesInCpp) {
  EXPECT_EQ(emitted(cpp_dialect(), doubled(1 << 20)),
            R"(extern "C" void k(void* const* args, int64_t begin, int64_t end) {
  const float* const p0 = static_cast<const float*>(args[0]);
  float* const p1 = static_cast<float*>(args[1]);
#pragma GCC ivdep
  for (int64_t r0 = begin * 64; r0 < end * 64; ++r0) {
    const float v0 = p0[r0];
    const float v2 = v0 * 2.0f;
    p1[r0] = v2;
  }
}
)");
}

// doubled() twice, on buffers 0 and 1 and on `second` and the one after it from `offset` on.
std::string doubled_twice(int size, int second, int offset) {
  std::string other = doubled(size);
  for (const int argument : {0, 1}) {
    const std::string from = fmt::format("buffer: {}", argument);
    other.replace(other.find(from), from.size(),
                  fmt::format("buffer: {} offset: {}", second + argument, offset));
  }
  return fmt::format("grouped {{ steps {{ {} }} steps {{ {} }} }}", doubled(size), other);
}

TEST(KernelText, GroupInCpp) {
  EXPECT_EQ(emitted(cpp_dialect(), doubled_twice(6, 2, 0)),
            R"(extern "C" void k(void* const* args, int64_t begin, int64_t end) {
  for (void* const* const args_end = args + 4; args != args_end; args += 2) {
    const float* const p0 = static_cast<const float*>(args[0]);
    float* const p1 = static_cast<float*>(args[1]);
#pragma GCC ivdep
    for (int64_t r0 = 0; r0 < 6; ++r0) {
      const float v0 = p0[r0];
      const float v2 = v0 * 2.0f;
      p1[r0] = v2;
    }
  }
}
)");
}

// The second member is not aligned to vectors.
TEST(KernelText, GroupInCuda) {
  EXPECT_EQ(
      emitted(cuda_dialect(), doubled_twice(6, 2, 1)),
      R"(extern "C" __global__ void __launch_bounds__(256) k(const __grid_constant__ Args<4> args) {
  void* const* const own = args.p + blockIdx.x / 1 * 2;
  const uint32_t block = blockIdx.x % 1;
  const float* const p0 = static_cast<const float*>(own[0]);
  float* const p1 = static_cast<float*>(own[1]);
  for (uint32_t e = block * uint32_t(256) + threadIdx.x; e < 6; e += 1 * uint32_t(256)) {
    const int64_t r0 = int64_t(e);
    const float v0 = p0[r0];
    const float v2 = v0 * 2.0f;
    p1[r0] = v2;
  }
}
)");
}

// Of floats of 32 bits that are written, a thread has 16 bytes, and so 8 of those of 16 bits; where
// the former are read only, it has 16 of the latter.
TEST(KernelText, VectorsOfWhatIsWritten) {
  const auto converted = [](const char* from, const char* to) {
    return fmt::format(
        "elementwise {{ shape: 64 program {{ inputs: {0} "
        "instructions {{ op: CONVERT dtype: {1} args: 0 }} outputs: 1 }} "
        "inputs {{ buffer: 0 dtype: {0} strides: 1 }} outputs {{ buffer: 1 dtype: {1} strides: 1 "
        "}} "
        "}}",
        from, to);
  };
  const std::string wider = emitted(cuda_dialect(), converted("BF16", "F32"));
  EXPECT_NE(wider.find("Vec<uint32_t, 2> w0"), std::string::npos) << wider;
  EXPECT_NE(wider.find("Vec<float, 4> w1"), std::string::npos) << wider;
  const std::string narrower = emitted(cuda_dialect(), converted("F32", "BF16"));
  EXPECT_NE(narrower.find("Vec<float, 8> w0"), std::string::npos) << narrower;
  EXPECT_NE(narrower.find("Vec<uint32_t, 4> w1"), std::string::npos) << narrower;
}

// Six elements are three vectors of two.
TEST(KernelText, ElementwiseInCuda) {
  EXPECT_EQ(emitted(cuda_dialect(), doubled(6)),
            R"(extern "C" __global__ void __launch_bounds__(256) k(const Args<2> args) {
  const float* const p0 = static_cast<const float*>(args.p[0]);
  float* const p1 = static_cast<float*>(args.p[1]);
  for (uint32_t e = blockIdx.x * uint32_t(256) + threadIdx.x; e < 3; e += gridDim.x * uint32_t(256)) {
    const int64_t r0 = int64_t(e) * 2;
    const Vec<float, 2> w0 = *reinterpret_cast<const Vec<float, 2>*>(&p0[r0]);
    Vec<float, 2> w1;
    const int64_t first = r0;
    #pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int64_t r0 = first + j;
      const float v0 = w0.v[j];
      const float v2 = v0 * 2.0f;
      w1.v[j] = v2;
    }
    *reinterpret_cast<Vec<float, 2>*>(&p1[r0]) = w1;
  }
}
)");
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Sums and products of 16 bits are of two elements at once, everything else of each.
TEST(KernelText, PairsInCuda) {
  const std::string text = emitted(
      cuda_dialect(),
      "elementwise { shape: 64 program { inputs: BF16 inputs: BF16"
      "  instructions { op: ADD dtype: BF16 args: 0 args: 1 }"
      "  instructions { op: TANH dtype: BF16 args: 2 }"
      "  instructions { op: MULTIPLY dtype: BF16 args: 3 args: 1 } outputs: 4 }"
      "  inputs { buffer: 0 dtype: BF16 strides: 1 } inputs { buffer: 1 dtype: BF16 strides: 1 }"
      "  outputs { buffer: 2 dtype: BF16 strides: 1 } }");
  for (const char* line :
       {"const Vec<uint32_t, 4> w0 = *reinterpret_cast<const Vec<uint32_t, 4>*>(&p0[r0]);",
        "for (int j = 0; j < 8; j += 2) {", "const uint32_t v2 = add_pairs_bf16(v0, v1);",
        "const uint32_t v3 = pair_bf16(half_tanh(low_bf16(v2)), half_tanh(high_bf16(v2)));",
        "const uint32_t v4 = multiply_pairs_bf16(v3, v1);", "w2.v[j / 2] = v4;"})
    EXPECT_EQ(count_of(text, line), 1) << line << "\n" << text;
}

// x - sum(x): a row's elements are read once and stay in registers for what follows the sum; the
// weights, which are the same for all rows, are read where they are used.
TEST(KernelText, RowsAreReadOnceInCuda) {
  const std::string text =
      emitted(cuda_dialect(),
              "fused { steps { reduce { shape: 8 shape: 512 dims: 1 op: ADD"
              "    inputs { buffer: 0 dtype: BF16 strides: 512 strides: 1 }"
              "    inits { buffer: 1 dtype: F32 } outputs { buffer: 2 dtype: F32 strides: 1 } } }"
              "  steps { elementwise { shape: 8 shape: 512"
              "    program { inputs: BF16 inputs: F32 inputs: F32"
              "      instructions { op: CONVERT dtype: F32 args: 0 }"
              "      instructions { op: SUBTRACT dtype: F32 args: 3 args: 1 }"
              "      instructions { op: MULTIPLY dtype: F32 args: 4 args: 2 } outputs: 5 }"
              "    inputs { buffer: 0 dtype: BF16 strides: 512 strides: 1 }"
              "    inputs { buffer: 2 dtype: F32 strides: 1 strides: 0 }"
              "    inputs { buffer: 3 dtype: F32 strides: 0 strides: 1 }"
              "    outputs { buffer: 4 dtype: F32 strides: 512 strides: 1 } } } }");
  EXPECT_EQ(count_of(text, "uint32_t kept0[8];"), 1) << text;
  EXPECT_EQ(count_of(text, "(&p0["), 1) << text;
  EXPECT_EQ(count_of(text, "kept0[(turn * 8 + j) / 2] = v0;"), 1) << text;
  EXPECT_EQ(count_of(text, "low_bf16(kept0[(turn * 8 + j) / 2])"), 1) << text;
}

constexpr const char* kColumnSums =
    "reduce { shape: 3 shape: 40 dims: 0 op: ADD"
    "  inputs { buffer: 0 dtype: BF16 strides: 40 strides: 1 }"
    "  inits { buffer: 1 dtype: BF16 } outputs { buffer: 2 dtype: BF16 strides: 1 } }";

// Sums are float32 and rounded once.
TEST(KernelText, ColumnReductionInCpp) {
  EXPECT_EQ(emitted(cpp_dialect(), kColumnSums),
            R"(extern "C" void k(void* const* args, int64_t begin, int64_t end) {
  const uint16_t* const p0 = static_cast<const uint16_t*>(args[0]);
  const uint16_t* const p1 = static_cast<const uint16_t*>(args[1]);
  uint16_t* const p2 = static_cast<uint16_t*>(args[2]);
  const float v2 = widen_bf16(p1[0]);
  const float v3 = v2;
  for (int64_t t = 0; t < 40; t += 40) {
    const int64_t n = 40;
    float a0_0[40];
    for (int64_t j = 0; j < n; ++j) a0_0[j] = v3;
    for (int64_t c0 = 0; c0 < 3; ++c0) {
#pragma GCC ivdep
      for (int64_t j = 0; j < n; ++j) {
        const int64_t r0 = t + j;
        const float v0 = widen_bf16(p0[r0 + c0 * 40]);
        const float v1 = v0;
        const float x0 = a0_0[j] + v1;
        a0_0[j] = x0;
      }
    }
    float t5[40];
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      const int64_t r0 = t + j;
      const float v5 = round_bf16(float(a0_0[j]));
      t5[j] = v5;
      p2[r0] = narrow_bf16(v5);
    }
  }
}
)");
}

TEST(Kernels, ReductionsGoAlongMemory) {
  EXPECT_EQ(kernel_of(kColumnSums)->mapping, Mapping::kColumnTiles);
  EXPECT_EQ(
      kernel_of("reduce { shape: 40 shape: 64 dims: 1 op: ADD"
                "  inputs { buffer: 0 dtype: F32 strides: 64 strides: 1 }"
                "  inits { buffer: 1 dtype: F32 } outputs { buffer: 2 dtype: F32 strides: 1 } }")
          ->mapping,
      Mapping::kRows);
}

std::string unary(const std::string& op, const std::string& from, const std::string& to) {
  return "elementwise { shape: 4 program { inputs: " + from + " instructions { op: " + op +
         " dtype: " + to + " args: 0 } outputs: 1 } inputs { buffer: 0 dtype: " + from +
         " strides: 1 } outputs { buffer: 1 dtype: " + to + " strides: 1 } }";
}

TEST(Kernels, WhatIsNotCompiledKeepsTheLoops) {
  EXPECT_TRUE(kernel_of(unary("TANH", "BF16", "BF16")));
  EXPECT_FALSE(kernel_of(unary("DIGAMMA", "F32", "F32")));
  EXPECT_FALSE(kernel_of(unary("NEGATE", "C64", "C64")));
  EXPECT_FALSE(kernel_of(unary("NEGATE", "S4", "S4")));
  EXPECT_FALSE(kernel_of(unary("CONVERT", "F8E5M2", "F32")));
  EXPECT_FALSE(kernel_of(doubled(0)));
  EXPECT_FALSE(kernel_of("dot {}"));
}

// A reader of a local value has to look where it was written.
TEST(Kernels, LocalsAreReadAsTheyWereWritten) {
  const auto fused = [](const std::string& strides) {
    return "fused { steps { " + unary("NEGATE", "F32", "F32") +
           " } steps { elementwise { shape: 4 program { inputs: F32 outputs: 0 }"
           "  inputs { buffer: 100 dtype: F32 " +
           strides +
           " }"
           "  outputs { buffer: 2 dtype: F32 strides: 1 } } } }";
  };
  std::string same = fused("strides: 1"), reversed = fused("offset: 3 strides: -1");
  for (std::string* text : {&same, &reversed})
    text->replace(text->find("buffer: 1 "), 10, "buffer: 100 ");
  ASSERT_TRUE(kernel_of(same));
  EXPECT_EQ(kernel_of(same)->num_arguments, 2);
  EXPECT_FALSE(kernel_of(reversed));
}

TEST(Kernels, EqualStepsShareOne) {
  Module module = module_of(
      "(%a: tensor<64xf32>, %b: tensor<64xf32>, %c: tensor<32xf32>) -> "
      "(tensor<64xf32>, tensor<64xf32>, tensor<32xf32>)",
      "    %x = stablehlo.tanh %a : tensor<64xf32>\n"
      "    %y = stablehlo.tanh %b : tensor<64xf32>\n"
      "    %z = stablehlo.tanh %c : tensor<32xf32>\n"
      "    return %x, %y, %z : tensor<64xf32>, tensor<64xf32>, tensor<32xf32>");
  plan::Plan plan = plan_of(module);
  const std::string source = emit_kernels(plan, plan::KernelModule::CUDA);
  EXPECT_EQ(plan.kernels().kernels_size(), 2);
  EXPECT_EQ(compiled_steps(plan), 3);
  EXPECT_NE(source.find("extern \"C\" __global__"), std::string::npos);
  EXPECT_EQ(source.find("#include"), std::string::npos);
  drop_kernels(plan);
  EXPECT_EQ(compiled_steps(plan), 0);
  EXPECT_EQ(emit_kernels(plan, plan::KernelModule::HOST).find("#include"), std::string::npos);
}

// A compiler that fails costs speed, and is quoted.
TEST(Kernels, WithoutACompilerTheLoopsDoAll) {
  const char* before = std::getenv("CXX");
  const std::string kept = before ? before : "";
  const Module module = module_of("(%a: tensor<64xf32>) -> tensor<64xf32>",
                                  "    %x = stablehlo.tanh %a : tensor<64xf32>\n"
                                  "    return %x : tensor<64xf32>");
  const auto note_with = [&](const char* compiler) {
    setenv("CXX", compiler, 1);
    plan::Plan plan = plan_of(module);
    std::string note;
    compile_host_kernels(plan, {}, &note);
    EXPECT_EQ(compiled_steps(plan), 0);
    EXPECT_TRUE(plan.kernels().code().empty());
    return note;
  };
  EXPECT_EQ(note_with("/bin/false"), "/bin/false failed: it says nothing");
  EXPECT_EQ(note_with("no-such-compiler"),
            "the C++ compiler that CXX names, no-such-compiler, is not there");
  // One that the system can find but not start.
  const std::string broken = ::testing::TempDir() + "broken-compiler";
  std::ofstream(broken) << "no program";
  std::filesystem::permissions(broken, std::filesystem::perms::owner_all);
  EXPECT_EQ(note_with(broken.c_str()), broken + " failed: it cannot be started: Exec format error");
  std::filesystem::remove(broken);
  before ? setenv("CXX", kept.c_str(), 1) : unsetenv("CXX");
}

}  // namespace
}  // namespace spmd::testing
