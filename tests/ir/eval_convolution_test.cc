#include "tests/ir/eval_testing.h"

namespace spmd::testing {
namespace {

using Doubles = std::vector<double>;

// One spatial dimension, everything [batch, spatial, feature]; kernel [spatial, input, output].
ConvolutionAttrs one_dimension() {
  ConvolutionAttrs a;
  a.input_batch = a.output_batch = 0;
  a.input_feature = a.output_feature = 2;
  a.input_spatial = a.output_spatial = {1};
  a.kernel_spatial = {0};
  a.kernel_input_feature = 1;
  a.kernel_output_feature = 2;
  a.stride = a.lhs_dilation = a.rhs_dilation = {1};
  a.pad_low = a.pad_high = {0};
  a.reversal = {false};
  return a;
}

Doubles convolved(const ConvolutionAttrs& attrs, const std::vector<float>& x,
                  const std::vector<float>& k) {
  return doubles(apply(OpCode::kConvolution,
                       {f32({1, static_cast<int64_t>(x.size()), 1}, x),
                        f32({static_cast<int64_t>(k.size()), 1, 1}, k)},
                       attrs));
}

TEST(EvalConvolution, WindowAttributes) {
  ConvolutionAttrs a = one_dimension();
  EXPECT_EQ(convolved(a, {1, 2, 3, 4}, {10, 1}), (Doubles{12, 23, 34}));
  a.pad_low = {1};
  a.pad_high = {1};
  EXPECT_EQ(convolved(a, {1, 2, 3, 4}, {10, 1}), (Doubles{1, 12, 23, 34, 40}));
  a.stride = {2};
  EXPECT_EQ(convolved(a, {1, 2, 3, 4}, {10, 1}), (Doubles{1, 23, 40}));
  a = one_dimension();
  a.rhs_dilation = {2};
  EXPECT_EQ(convolved(a, {1, 2, 3, 4}, {10, 1}), (Doubles{13, 24}));
  a = one_dimension();
  a.lhs_dilation = {2};  // 1 0 2 0 3
  EXPECT_EQ(convolved(a, {1, 2, 3}, {10, 1}), (Doubles{10, 2, 20, 3}));
  a = one_dimension();
  a.pad_low = {-1};
  EXPECT_EQ(convolved(a, {1, 2, 3, 4}, {10, 1}), (Doubles{23, 34}));
  a = one_dimension();
  a.reversal = {true};
  EXPECT_EQ(convolved(a, {1, 2, 3, 4}, {10, 1}), (Doubles{21, 32, 43}));
}

TEST(EvalConvolution, FeaturesAreContracted) {
  // Two input features, two output features, one tap.
  const Literal x = f32({1, 2, 2}, {1, 2, 3, 4}), k = f32({1, 2, 2}, {1, 10, 100, 1000});
  EXPECT_EQ(doubles(apply(OpCode::kConvolution, {x, k}, one_dimension())),
            (Doubles{201, 2010, 403, 4030}));
}

TEST(EvalConvolution, FeatureGroups) {
  ConvolutionAttrs a = one_dimension();
  a.feature_group_count = 2;
  const Literal x = f32({1, 2, 2}, {1, 2, 3, 4}), k = f32({1, 1, 2}, {10, 100});
  EXPECT_EQ(doubles(apply(OpCode::kConvolution, {x, k}, a)), (Doubles{10, 200, 30, 400}));
}

TEST(EvalConvolution, BatchGroups) {
  ConvolutionAttrs a = one_dimension();
  a.batch_group_count = 2;
  // Four images in two groups of two; output feature g comes from group g.
  const Literal x = f32({4, 1, 1}, {1, 2, 3, 4}), k = f32({1, 1, 2}, {10, 100});
  EXPECT_EQ(doubles(apply(OpCode::kConvolution, {x, k}, a)), (Doubles{10, 300, 20, 400}));
}

TEST(EvalConvolution, DimensionNumbersMayBeInAnyOrder) {
  ConvolutionAttrs a = one_dimension();
  a.input_batch = 2;  // [feature, spatial, batch]
  a.input_feature = 0;
  a.kernel_spatial = {2};  // [output, input, spatial]
  a.kernel_output_feature = 0;
  a.kernel_input_feature = 1;
  a.output_batch = 1;  // [spatial, batch, feature]
  a.output_feature = 2;
  a.output_spatial = {0};
  const Literal x = f32({1, 3, 2}, {1, 10, 2, 20, 3, 30}), k = f32({2, 1, 2}, {1, 1, 2, 0});
  EXPECT_EQ(doubles(apply(OpCode::kConvolution, {x, k}, a)), (Doubles{3, 2, 30, 20, 5, 4, 50, 40}));
}

}  // namespace
}  // namespace spmd::testing
