#include <gtest/gtest.h>

#include <cmath>

#include "support/float_formats.h"
#include "tests/runtime/kernel_bench.h"

namespace spmd::cpu {
namespace {

struct Groups {
  Dims batch, m, n, k;
};

const Groups kGroups[] = {
    {{}, {1}, {1}, {1}},      {{}, {5}, {7}, {3}},        {{}, {64}, {48}, {33}},
    {{3}, {4}, {5}, {6}},     {{2, 3}, {8}, {9}, {4}},    {{}, {2, 3}, {4, 5}, {3, 2}},
    {{2}, {3, 4}, {1}, {17}}, {{4}, {1}, {6}, {8}},       {{}, {}, {}, {10}},
    {{2}, {}, {3}, {4}},      {{}, {5}, {4}, {}},         {{}, {3}, {2}, {0}},
    {{0}, {3}, {2}, {2}},     {{2, 2}, {16}, {16}, {32}},
};

Dims join(std::initializer_list<const Dims*> parts) {
  Dims result;
  for (const Dims* part : parts) result.insert(result.end(), part->begin(), part->end());
  return result;
}

plan::Step dot_step(const Groups& g, const plan::View& lhs, const plan::View& rhs,
                    const plan::View& out, plan::DType accumulation) {
  plan::Step step;
  plan::Dot* dot = step.mutable_dot();
  for (int64_t size : g.batch) dot->add_batch(size);
  for (int64_t size : g.m) dot->add_m(size);
  for (int64_t size : g.n) dot->add_n(size);
  for (int64_t size : g.k) dot->add_k(size);
  *dot->mutable_lhs() = lhs;
  *dot->mutable_rhs() = rhs;
  *dot->mutable_out() = out;
  dot->set_accumulation(accumulation);
  return step;
}

// Sums in double over elements read by `lhs` and `rhs`.
template <typename Read>
double exact(const Groups& g, const Dims& out_index, Read read) {
  const Dims batch(out_index.begin(), out_index.begin() + static_cast<ptrdiff_t>(g.batch.size()));
  const auto middle = out_index.begin() + static_cast<ptrdiff_t>(g.batch.size() + g.m.size());
  const Dims m(out_index.begin() + static_cast<ptrdiff_t>(g.batch.size()), middle);
  const Dims n(middle, out_index.end());
  double sum = 0;
  for_each_index(g.k, [&](const Dims& k) {
    sum += read(join({&batch, &m, &k}), join({&batch, &n, &k}));
  });
  return sum;
}

TEST(Dot, F32OnRandomViews) {
  for (uint64_t seed = 0; seed < 15; ++seed)
    for (const Groups& g : kGroups) {
      KernelBench bench(seed);
      const auto draw = [&] { return static_cast<float>(bench.pick(-8, 8)); };  // exact sums
      const plan::View lhs =
          bench.random_view<float>(plan::F32, join({&g.batch, &g.m, &g.k}), draw, true);
      const plan::View rhs =
          bench.random_view<float>(plan::F32, join({&g.batch, &g.n, &g.k}), draw, true);
      const Dims shape = join({&g.batch, &g.m, &g.n});
      const plan::View out = bench.random_view<float>(plan::F32, shape, draw);
      bench.run(dot_step(g, lhs, rhs, out, plan::F32));
      for_each_index(shape, [&](const Dims& i) {
        const double want = exact(g, i, [&](const Dims& l, const Dims& r) {
          return double(bench.at<float>(lhs, l)) * bench.at<float>(rhs, r);
        });
        ASSERT_EQ(bench.at<float>(out, i), want) << "seed " << seed;
      });
    }
}

TEST(Dot, Bf16AccumulatesInFloatAndRoundsOnce) {
  for (uint64_t seed = 0; seed < 10; ++seed)
    for (const Groups& g : kGroups) {
      KernelBench bench(seed);
      const auto draw = [&] { return float_to_bf16(static_cast<float>(bench.pick(-16, 16))); };
      const plan::View lhs =
          bench.random_view<uint16_t>(plan::BF16, join({&g.batch, &g.m, &g.k}), draw, true);
      const plan::View rhs =
          bench.random_view<uint16_t>(plan::BF16, join({&g.batch, &g.n, &g.k}), draw, true);
      const Dims shape = join({&g.batch, &g.m, &g.n});
      const plan::View out = bench.random_view<uint16_t>(plan::BF16, shape, draw);
      bench.run(dot_step(g, lhs, rhs, out, plan::F32));
      for_each_index(shape, [&](const Dims& i) {
        const double want = exact(g, i, [&](const Dims& l, const Dims& r) {
          return double(bf16_to_float(bench.at<uint16_t>(lhs, l))) *
                 bf16_to_float(bench.at<uint16_t>(rhs, r));
        });
        ASSERT_EQ(bench.at<uint16_t>(out, i), float_to_bf16(static_cast<float>(want)));
      });
    }
}

TEST(Dot, IntegersAndDoubles) {
  for (const Groups& g : kGroups) {
    KernelBench bench(3);
    const Dims shape = join({&g.batch, &g.m, &g.n});
    const auto byte = [&] { return static_cast<int8_t>(bench.pick(-100, 100)); };
    const plan::View a = bench.random_view<int8_t>(plan::S8, join({&g.batch, &g.m, &g.k}), byte);
    const plan::View b = bench.random_view<int8_t>(plan::S8, join({&g.batch, &g.n, &g.k}), byte);
    const plan::View sum = bench.random_view<int32_t>(plan::S32, shape, [] { return 0; });
    bench.run(dot_step(g, a, b, sum, plan::S32));
    const auto real = [&] { return static_cast<double>(bench.uniform()); };
    const plan::View x = bench.random_view<double>(plan::F64, join({&g.batch, &g.m, &g.k}), real);
    const plan::View y = bench.random_view<double>(plan::F64, join({&g.batch, &g.n, &g.k}), real);
    const plan::View z = bench.random_view<double>(plan::F64, shape, real);
    bench.run(dot_step(g, x, y, z, plan::F64));
    for_each_index(shape, [&](const Dims& i) {
      ASSERT_EQ(bench.at<int32_t>(sum, i), exact(g, i, [&](const Dims& l, const Dims& r) {
                  return double(bench.at<int8_t>(a, l)) * bench.at<int8_t>(b, r);
                }));
      ASSERT_NEAR(bench.at<double>(z, i),
                  exact(g, i,
                        [&](const Dims& l, const Dims& r) {
                          return bench.at<double>(x, l) * bench.at<double>(y, r);
                        }),
                  1e-12);
    });
  }
}

TEST(Dot, RoundsOperandsWhenAsked) {
  KernelBench bench;
  const float x = 1 + 0x1p-9f;  // bf16 drops the last bit
  const plan::View lhs = bench.dense(plan::F32, {1, 2}, std::vector<float>{x, 1});
  const plan::View rhs = bench.dense(plan::F32, {1, 2}, std::vector<float>{x, 1});
  const plan::View out = bench.dense(plan::F32, {1, 1}, std::vector<float>{0});
  plan::Step step = dot_step({{}, {1}, {1}, {2}}, lhs, rhs, out, plan::F32);
  step.mutable_dot()->set_round_lhs(plan::BF16);
  bench.run(step);
  EXPECT_EQ(bench.at<float>(out, {0, 0}), x + 1);
}

}  // namespace
}  // namespace spmd::cpu
