#include "runtime/random_draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "runtime/normal_value.h"

namespace spmd {
namespace {

TEST(NormalValue, FunctionsAreThoseOfTheMathLibrary) {
  for (int i = 1; i < 100000; ++i) {
    const double x = i / 100000.0;
    EXPECT_NEAR(normal::logarithm(x), std::log(x), 1e-15 * (1 - std::log(x))) << x;
    EXPECT_NEAR(normal::cosine_of_turns(x), std::cos(2 * std::numbers::pi * x), 2e-15) << x;
  }
  EXPECT_NEAR(normal::logarithm(0x1p-54), -54 * std::numbers::ln2, 1e-14);
  EXPECT_EQ(normal::cosine_of_turns(0), 1);
  EXPECT_NEAR(normal::cosine_of_turns(0.25), 0, 1e-15);
  EXPECT_NEAR(normal::cosine_of_turns(0.5), -1, 1e-15);
}

// Moments of the normal distribution: 0, 1, 0, 3; each within five standard errors.
TEST(NormalValue, HasTheMomentsOfTheDistribution) {
  constexpr int kCount = 200000;
  double sums[5] = {};
  for (int i = 0; i < kCount; ++i) {
    double power = 1;
    const double x = normal::value(42, static_cast<uint64_t>(i));
    for (double& sum : sums) {
      sum += power;
      power *= x;
    }
  }
  const double wanted[] = {1, 0, 1, 0, 3}, variance[] = {1e-12, 1, 2, 15, 96};
  for (int k = 0; k < 5; ++k)
    EXPECT_NEAR(sums[k] / kCount, wanted[k], 5 * std::sqrt(variance[k] / kCount)) << k;
}

plan::Placement placement_of(std::vector<int64_t> global, std::vector<int64_t> local) {
  plan::Placement placement;
  placement.set_dtype(plan::F32);
  for (int64_t size : global) placement.add_global_shape(size);
  for (int64_t size : local) placement.add_local_shape(size);
  return placement;
}

// Parts of a tensor, the padded one too, are what the whole tensor has there; large enough that
// threads share the work.
TEST(RandomDraw, BlocksAreThoseOfTheWholeTensor) {
  const RandomDraw draw{7, 0.5};
  constexpr int64_t kRows = 5, kColumns = 200000, kHalf = kColumns / 2;
  std::vector<float> whole(kRows * kColumns), part(3 * kHalf);
  draw_block(draw, placement_of({kRows, kColumns}, {kRows, kColumns}), {{0, 0}, {kRows, kColumns}},
             reinterpret_cast<std::byte*>(whole.data()));
  draw_block(draw, placement_of({kRows, kColumns}, {3, kHalf}), {{3, kHalf}, {2, kHalf}},
             reinterpret_cast<std::byte*>(part.data()));
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t column = 0; column < kHalf; ++column) {
      const float wanted =
          row < 2 ? whole[static_cast<size_t>((row + 3) * kColumns + kHalf + column)] : 0;
      ASSERT_EQ(part[static_cast<size_t>(row * kHalf + column)], wanted) << row << " " << column;
    }
  EXPECT_EQ(whole[12345], static_cast<float>(0.5 * normal::value(7, 12345)));
}

// Integers below a bound: each of 10 classes as often, within five deviations of a binomial; the
// same for every size of integer; and in parts as in the whole.
TEST(RandomDraw, IntegersAreUniformBelowTheirBound) {
  constexpr int64_t kCount = 100000;
  const RandomDraw draw{7, 0.02, 10};
  plan::Placement placement = placement_of({kCount}, {kCount});
  placement.set_dtype(plan::S32);
  std::vector<int32_t> whole(kCount), part(100);
  draw_block(draw, placement, {{0}, {kCount}}, reinterpret_cast<std::byte*>(whole.data()));
  std::vector<int> counts(10, 0);
  for (int32_t value : whole) {
    ASSERT_TRUE(value >= 0 && value < 10) << value;
    ++counts[static_cast<size_t>(value)];
  }
  for (int count : counts) EXPECT_NEAR(count, kCount / 10, 5 * std::sqrt(kCount * 0.1 * 0.9));
  plan::Placement half = placement_of({kCount}, {100});
  half.set_dtype(plan::S32);
  draw_block(draw, half, {{kCount - 90}, {90}}, reinterpret_cast<std::byte*>(part.data()));
  for (size_t i = 0; i < 100; ++i) ASSERT_EQ(part[i], i < 90 ? whole[kCount - 90 + i] : 0) << i;
  placement.set_dtype(plan::S64);
  std::vector<int64_t> wide(kCount);
  draw_block(draw, placement, {{0}, {kCount}}, reinterpret_cast<std::byte*>(wide.data()));
  EXPECT_TRUE(std::equal(wide.begin(), wide.end(), whole.begin()));
}

// A byte holds no more than its range of a bound that is larger.
TEST(RandomDraw, BoundsEndWithTheType) {
  plan::Placement placement = placement_of({1000}, {1000});
  placement.set_dtype(plan::S8);
  std::vector<int8_t> values(1000);
  draw_block({3, 0, 50257}, placement, {{0}, {1000}}, reinterpret_cast<std::byte*>(values.data()));
  EXPECT_EQ(*std::min_element(values.begin(), values.end()), 0);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 127);
}

TEST(RandomDraw, WithoutDeviationOrBoundThereIsNothing) {
  EXPECT_FALSE(draws_values({1, 0, 10}, plan::F32));
  EXPECT_FALSE(draws_values({1, 0.02}, plan::S32));
  EXPECT_FALSE(draws_values({1, 0.02, 1}, plan::S32));
  EXPECT_TRUE(draws_values({1, 0, 2}, plan::U8));
  EXPECT_FALSE(draws_values({1, 0.02}, plan::F8E4M3));
  EXPECT_TRUE(draws_values({1, 0.02}, plan::F16));
}

}  // namespace
}  // namespace spmd
