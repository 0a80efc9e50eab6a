#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/float_formats.h"
#include "tests/runtime/kernel_bench.h"

namespace spmd::cpu {
namespace {

TEST(Sort, KeysCarryValuesStably) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    KernelBench bench(seed);
    const Dims shape{3, 40, 2};
    const plan::View keys = bench.random_view<float>(
        plan::F32, shape, [&] { return static_cast<float>(bench.pick(0, 9)); });
    const plan::View values = bench.random_view<int32_t>(
        plan::S32, shape, [&] { return static_cast<int32_t>(bench.pick(0, 1000)); });
    const plan::View sorted = bench.random_view<float>(plan::F32, shape, [] { return 0.0f; });
    const plan::View carried = bench.random_view<int32_t>(plan::S32, shape, [] { return 0; });
    plan::Step step;
    auto* sort = step.mutable_sort();
    for (int64_t size : shape) sort->add_shape(size);
    sort->set_dim(1);
    sort->set_stable(true);
    Scalars s;
    const int a = s.input(plan::F32), b = s.input(plan::F32);
    s.input(plan::S32);
    s.input(plan::S32);
    s.returns({s.compare(plan::LT, a, b)});
    *sort->mutable_comparator() = s.program;
    *sort->add_inputs() = keys;
    *sort->add_inputs() = values;
    *sort->add_outputs() = sorted;
    *sort->add_outputs() = carried;
    bench.run(step);
    for_each_index({3, 1, 2}, [&](const Dims& line) {
      std::vector<int64_t> order(40);
      std::iota(order.begin(), order.end(), 0);
      const auto key = [&](int64_t k) { return bench.at<float>(keys, {line[0], k, line[2]}); };
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t x, int64_t y) { return key(x) < key(y); });
      for (int64_t k = 0; k < 40; ++k) {
        const int64_t from = order[static_cast<size_t>(k)];
        ASSERT_EQ(bench.at<float>(sorted, {line[0], k, line[2]}), key(from));
        ASSERT_EQ(bench.at<int32_t>(carried, {line[0], k, line[2]}),
                  bench.at<int32_t>(values, {line[0], from, line[2]}));
      }
    });
  }
}

TEST(TopK, DescendingEqualByIndexNanFirst) {
  KernelBench bench;
  const float nan = std::nanf("");
  const plan::View in = bench.dense(plan::F32, {2, 5},
                                    std::vector<float>{1, 3, 2, 3, nan, -1, -INFINITY, -1, -3, -2});
  const plan::View values = bench.dense(plan::F32, {2, 3}, std::vector<float>(6)),
                   indices = bench.dense(plan::S32, {2, 3}, std::vector<int32_t>(6));
  plan::Step step;
  auto* top = step.mutable_top_k();
  *top->mutable_operand() = in;
  top->set_k(3);
  *top->mutable_values() = values;
  *top->mutable_indices() = indices;
  bench.run(step);
  const int32_t want[2][3] = {{4, 1, 3}, {0, 2, 4}};
  for (int64_t r = 0; r < 2; ++r)
    for (int64_t k = 0; k < 3; ++k) EXPECT_EQ(bench.at<int32_t>(indices, {r, k}), want[r][k]);
  EXPECT_TRUE(std::isnan(bench.at<float>(values, {0, 0})));
  EXPECT_EQ(bench.at<float>(values, {1, 2}), -2);
}

}  // namespace
}  // namespace spmd::cpu
