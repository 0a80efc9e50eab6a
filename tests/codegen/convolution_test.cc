// Convolutions as training steps have them, against the evaluator, on every device.
#include <fmt/format.h>

#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

struct ConvolutionCase {
  const char* name;
  const char *input, *kernel, *out;  // "2x8x8x16"
  const char* dims;                  // "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
  const char* window;
  int feature_groups = 1, batch_groups = 1;
};

constexpr const char* kForwardDims = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]";
constexpr const char* kDataDims = "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]";
constexpr const char* kFilterDims = "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]";
constexpr const char* kChannelsFirst = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]";

// The first six are the steps of a small network's training: both layers, their gradients.
constexpr ConvolutionCase kConvolutions[] = {
    {"Forward", "2x8x8x8", "3x3x8x16", "2x8x8x16", kForwardDims, "pad = [[1, 1], [1, 1]]"},
    {"ForwardWithStrides", "2x8x8x8", "3x3x8x16", "2x4x4x16", kForwardDims,
     "stride = [2, 2], pad = [[0, 1], [0, 1]]"},
    {"OfData", "2x8x8x16", "3x3x8x16", "2x8x8x8", kDataDims,
     "pad = [[1, 1], [1, 1]], reverse = [true, true]"},
    {"OfDataWithStrides", "2x4x4x16", "3x3x8x16", "2x8x8x8", kDataDims,
     "pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2], reverse = [true, true]"},
    {"OfFilter", "2x8x8x8", "2x8x8x16", "3x3x8x16", kFilterDims, "pad = [[1, 1], [1, 1]]"},
    {"OfFilterWithStrides", "2x8x8x8", "2x4x4x16", "3x3x8x16", kFilterDims,
     "pad = [[0, 1], [0, 1]], rhs_dilate = [2, 2]"},
    {"ChannelsFirst", "2x8x8x8", "16x8x3x3", "2x16x8x8", kChannelsFirst, "pad = [[1, 1], [1, 1]]"},
    {"Groups", "2x8x8x8", "3x3x2x16", "2x8x8x16", kForwardDims, "pad = [[1, 1], [1, 1]]", 4},
    {"Depthwise", "2x8x8x8", "3x3x1x8", "2x8x8x8", kForwardDims, "pad = [[1, 1], [1, 1]]", 8},
    {"OfDataInGroups", "2x4x4x16", "3x3x8x4", "2x8x8x8", kDataDims,
     "pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2], reverse = [true, true]", 4},
    {"OfFilterInGroups", "2x8x8x8", "2x8x8x16", "3x3x2x16", kFilterDims, "pad = [[1, 1], [1, 1]]",
     1, 4},
    {"CutOff", "2x8x8x8", "3x3x8x16", "2x5x5x16", kForwardDims, "pad = [[-1, 0], [0, -1]]"},
    {"Dilated", "2x9x9x8", "3x3x8x16", "2x9x9x16", kForwardDims,
     "pad = [[2, 2], [2, 2]], rhs_dilate = [2, 2]"},
};

Module module_of_case(const ConvolutionCase& c, const std::string& dtype) {
  const auto type = [&](const char* shape) { return fmt::format("tensor<{}x{}>", shape, dtype); };
  const std::string input = type(c.input), kernel = type(c.kernel), out = type(c.out);
  return module_of(
      fmt::format("(%x: {}, %k: {}) -> {}", input, kernel, out),
      fmt::format("\n    %0 = stablehlo.convolution(%x, %k) dim_numbers = {}, window = {{{}}} "
                  "{{batch_group_count = {} : i64, feature_group_count = {} : i64}} : ({}, {}) -> "
                  "{}\n    return %0 : {}",
                  c.dims, c.window, c.batch_groups, c.feature_groups, input, kernel, out, out));
}

class ConvolutionMeaning : public ::testing::TestWithParam<ConvolutionCase> {};

// In F32 the sums are of F32, not of TF32, whose error would be a thousand times this.
TEST_P(ConvolutionMeaning, F32) { expect_meaning(module_of_case(GetParam(), "f32"), 5e-6); }

TEST_P(ConvolutionMeaning, Bf16) { expect_meaning(module_of_case(GetParam(), "bf16"), 1e-2); }

TEST_P(ConvolutionMeaning, F16) { expect_meaning(module_of_case(GetParam(), "f16"), 2e-3); }

INSTANTIATE_TEST_SUITE_P(All, ConvolutionMeaning, ::testing::ValuesIn(kConvolutions),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace spmd::testing
