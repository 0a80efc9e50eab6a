#include "launcher/expectation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace spmd {
namespace {

TensorView view(const std::vector<float>& values) {
  return {plan::F32,
          {static_cast<int64_t>(values.size())},
          reinterpret_cast<const std::byte*>(values.data())};
}

TEST(Expectation, MetricDeviatesRelatively) {
  const std::vector<float> expected = {1, 2, 4};
  const Comparison::Row row = compare_metric("loss", {1, 2.0002, 4}, view(expected), {});
  EXPECT_NEAR(row.difference, 1e-4, 1e-9);
  EXPECT_NEAR(row.deviation, 5, 1e-3);
  EXPECT_NE(row.note.find("step 1"), std::string::npos);
}

TEST(Expectation, EqualMetricsAreWithinNothing) {
  const std::vector<float> expected = {1, 2, 4};
  Tolerances exact;
  exact.metrics = 0;
  EXPECT_EQ(compare_metric("loss", {1, 2, 4}, view(expected), exact).deviation, 0);
  EXPECT_GT(compare_metric("loss", {1, 2, 4.5}, view(expected), exact).deviation, 1);
}

TEST(Expectation, StateIsMeasuredByItsNorm) {
  const std::vector<float> expected = {3, 4}, actual = {3, 4.001f};
  const Comparison::Row row = compare_state("w", view(actual), view(expected), {});
  EXPECT_NEAR(row.difference, 2e-4, 1e-6);
  EXPECT_NEAR(row.deviation, 0.2, 1e-2);
}

TEST(Expectation, ATensorMayHaveItsOwnTolerance) {
  const std::vector<float> expected = {3, 4}, actual = {3, 4.1f};
  Tolerances tolerances;
  EXPECT_GT(compare_state("w", view(actual), view(expected), tolerances).deviation, 1);
  tolerances.tensors["w"] = 0.1;
  EXPECT_LT(compare_state("w", view(actual), view(expected), tolerances).deviation, 1);
}

TEST(Expectation, NanIsOnlyLikeNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> expected = {1, nan}, same = {1, nan}, other = {1, 2};
  EXPECT_EQ(compare_state("w", view(same), view(expected), {}).deviation, 0);
  EXPECT_TRUE(std::isinf(compare_state("w", view(other), view(expected), {}).deviation));
}

TEST(Expectation, ZerosMayHoldDust) {
  const std::vector<float> expected(100, 0.0f), actual(100, 5e-8f);
  EXPECT_LT(compare_state("w", view(actual), view(expected), {}).deviation, 1);
}

}  // namespace
}  // namespace spmd
