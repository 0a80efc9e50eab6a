#include <gtest/gtest.h>

#include <cmath>

#include "support/error.h"
#include "support/float_formats.h"
#include "tests/runtime/kernel_bench.h"

namespace spmd::cpu {
namespace {

plan::Step step_of(const Dims& shape, const Scalars& scalars, std::vector<plan::View> inputs,
                   std::vector<plan::View> outputs) {
  plan::Step step;
  step.set_op("test");
  plan::Elementwise* e = step.mutable_elementwise();
  for (int64_t size : shape) e->add_shape(size);
  *e->mutable_program() = scalars.program;
  for (const plan::View& view : inputs) *e->add_inputs() = view;
  for (const plan::View& view : outputs) *e->add_outputs() = view;
  return step;
}

const Dims kShapes[] = {{},          {1},       {7},          {1000},     {5000},    {3, 5},
                        {64, 64},    {3, 2000}, {2000, 3},    {2, 3, 4},  {5, 1, 7}, {40, 50, 3},
                        {3, 50, 40}, {0, 4},    {2, 3, 4, 5}, {33, 17, 9}};

// (a * b + c) * 2 - a, with every input strided in its own way.
TEST(Elementwise, ChainsOnRandomViews) {
  for (uint64_t seed = 0; seed < 15; ++seed)
    for (const Dims& shape : kShapes) {
      KernelBench bench(seed);
      const auto draw = [&] { return bench.uniform(); };
      std::vector<plan::View> in;
      for (int i = 0; i < 3; ++i)
        in.push_back(bench.random_view<float>(plan::F32, shape, draw, true));
      const plan::View out = bench.random_view<float>(plan::F32, shape, draw);
      Scalars s;
      const int a = s.input(plan::F32), b = s.input(plan::F32), c = s.input(plan::F32);
      const int sum = s.op(plan::ADD, plan::F32, {s.op(plan::MULTIPLY, plan::F32, {a, b}), c});
      const int twice = s.op(plan::MULTIPLY, plan::F32, {sum, s.constant(plan::F32, 2.0f)});
      s.returns({s.op(plan::SUBTRACT, plan::F32, {twice, a})});
      bench.run(step_of(shape, s, in, {out}));
      for_each_index(shape, [&](const Dims& i) {
        const float x = bench.at<float>(in[0], i), y = bench.at<float>(in[1], i),
                    z = bench.at<float>(in[2], i);
        const float product = x * y, want = (product + z) * 2.0f - x;
        ASSERT_EQ(bench.at<float>(out, i), want) << "seed " << seed;
      });
    }
}

TEST(Elementwise, CopiesOfEverySize) {
  for (uint64_t seed = 0; seed < 12; ++seed)
    for (const Dims& shape : kShapes) {
      KernelBench bench(seed);
      const plan::View in = bench.random_view<uint16_t>(
          plan::U16, shape, [&] { return static_cast<uint16_t>(bench.pick(0, 60000)); }, true);
      const plan::View out =
          bench.random_view<uint16_t>(plan::U16, shape, [] { return uint16_t{0}; });
      Scalars s;
      s.returns({s.input(plan::U16)});
      bench.run(step_of(shape, s, {in}, {out}));
      for_each_index(shape, [&](const Dims& i) {
        ASSERT_EQ(bench.at<uint16_t>(out, i), bench.at<uint16_t>(in, i)) << "seed " << seed;
      });
    }
}

// Each instruction's result is rounded to its own type.
TEST(Elementwise, Bf16RoundsAfterEachOp) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    KernelBench bench(seed);
    const Dims shape{13, 90};
    const auto draw = [&] { return float_to_bf16(bench.uniform()); };
    const plan::View a = bench.random_view<uint16_t>(plan::BF16, shape, draw, true),
                     b = bench.random_view<uint16_t>(plan::BF16, shape, draw, true),
                     out = bench.random_view<uint16_t>(plan::BF16, shape, draw);
    Scalars s;
    const int x = s.input(plan::BF16), y = s.input(plan::BF16);
    const int product = s.op(plan::MULTIPLY, plan::BF16, {x, y});
    s.returns({s.op(plan::ADD, plan::BF16, {product, y})});
    bench.run(step_of(shape, s, {a, b}, {out}));
    for_each_index(shape, [&](const Dims& i) {
      const float p = bf16_to_float(bench.at<uint16_t>(a, i)),
                  q = bf16_to_float(bench.at<uint16_t>(b, i));
      const float rounded = bf16_to_float(float_to_bf16(p * q));
      ASSERT_EQ(bench.at<uint16_t>(out, i), float_to_bf16(rounded + q));
    });
  }
}

TEST(Elementwise, IotaSelectCompareAndSeveralOutputs) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    KernelBench bench(seed);
    const Dims shape{17, 70, 3};
    const plan::View a = bench.random_view<float>(
        plan::F32, shape, [&] { return bench.uniform(); }, true);
    const plan::View masked = bench.random_view<float>(plan::F32, shape, [] { return 9.0f; }),
                     index = bench.random_view<int32_t>(plan::S32, shape, [] { return -1; });
    Scalars s;
    const int x = s.input(plan::F32);
    const int row = s.op(plan::IOTA, plan::S32, {}, 0), column = s.op(plan::IOTA, plan::S32, {}, 1);
    const int below = s.compare(plan::GE, row, column);
    const int zero = s.constant(plan::F32, -1e9f);
    s.returns({s.op(plan::SELECT, plan::F32, {below, x, zero}), column});
    bench.run(step_of(shape, s, {a}, {masked, index}));
    for_each_index(shape, [&](const Dims& i) {
      ASSERT_EQ(bench.at<float>(masked, i), i[0] >= i[1] ? bench.at<float>(a, i) : -1e9f);
      ASSERT_EQ(bench.at<int32_t>(index, i), i[1]);
    });
  }
}

TEST(Elementwise, WritesOverItsOwnInput) {
  KernelBench bench;
  bench.repeat = false;
  const Dims shape{3000};
  std::vector<float> a(3000), b(3000);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i);
    b[i] = 2;
  }
  const plan::View va = bench.dense(plan::F32, shape, a), vb = bench.dense(plan::F32, shape, b);
  Scalars s;
  const int x = s.input(plan::F32), y = s.input(plan::F32);
  // The first output lies on an input that the second still needs.
  const int first = s.op(plan::ADD, plan::F32, {x, y});
  s.returns({first, s.op(plan::MULTIPLY, plan::F32, {x, y})});
  bench.run(step_of(shape, s, {va, vb}, {va, vb}));
  for (int64_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(bench.at<float>(va, {i}), static_cast<float>(i) + 2);
    ASSERT_EQ(bench.at<float>(vb, {i}), static_cast<float>(i) * 2);
  }
}

TEST(Elementwise, ConvertsWithoutRoundingTwice) {
  KernelBench bench;
  // Halfway between two bf16 numbers, but for a bit that float32 cannot hold.
  const double x = 1 + 0x1p-8 + 0x1p-40;
  const plan::View in = bench.dense(plan::F64, {1}, std::vector<double>{x}),
                   out = bench.dense(plan::BF16, {1}, std::vector<uint16_t>{0});
  Scalars s;
  const int from = s.input(plan::F64);
  s.returns({s.op(plan::CONVERT, plan::BF16, {from})});
  bench.run(step_of({1}, s, {in}, {out}));
  EXPECT_EQ(bf16_to_float(bench.at<uint16_t>(out, {0})), 1 + 0x1p-7f);
}

TEST(Elementwise, SaysWhichOpItCannotDo) {
  KernelBench bench;
  const plan::View v = bench.dense(plan::BOOL, {1}, std::vector<uint8_t>{0});
  Scalars s;
  const int x = s.input(plan::BOOL);
  s.returns({s.op(plan::SINE, plan::BOOL, {x})});
  try {
    bench.run(step_of({1}, s, {v}, {v}));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "test: no CPU kernel for SINE of bool to bool");
  }
}

}  // namespace
}  // namespace spmd::cpu
