#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "support/float_formats.h"
#include "tests/runtime/kernel_bench.h"

namespace spmd::cpu {
namespace {

struct Reduced {
  Dims shape, dims;
  Dims kept() const {
    Dims result;
    for (size_t d = 0; d < shape.size(); ++d)
      if (!std::count(dims.begin(), dims.end(), static_cast<int64_t>(d)))
        result.push_back(shape[d]);
    return result;
  }
  // The index without its reduced dimensions.
  Dims kept_index(const Dims& index) const {
    Dims result;
    for (size_t d = 0; d < index.size(); ++d)
      if (!std::count(dims.begin(), dims.end(), static_cast<int64_t>(d)))
        result.push_back(index[d]);
    return result;
  }
};

const Reduced kReduced[] = {
    {{5}, {0}},         {{3000}, {0}},         {{4, 5}, {0}},       {{4, 5}, {1}},
    {{4, 5}, {0, 1}},   {{3, 2000}, {1}},      {{2000, 3}, {0}},    {{3, 2000}, {0}},
    {{2000, 3}, {1}},   {{3, 4, 5}, {1}},      {{3, 4, 5}, {0, 2}}, {{2, 3, 4, 5}, {1, 3}},
    {{7, 1, 9}, {1}},   {{4, 5}, {}},          {{0, 5}, {0}},       {{5, 0}, {0}},
    {{2, 70, 70}, {1}}, {{40, 3, 50}, {0, 2}}, {{1, 1}, {0, 1}},    {{64, 8, 33}, {2}},
};

plan::Step reduce_step(const Reduced& c, plan::ScalarOp op, std::vector<plan::View> inputs,
                       std::vector<plan::View> inits, std::vector<plan::View> outputs) {
  plan::Step step;
  plan::Reduce* reduce = step.mutable_reduce();
  for (int64_t size : c.shape) reduce->add_shape(size);
  for (int64_t dim : c.dims) reduce->add_dims(dim);
  reduce->set_op(op);
  for (const auto& view : inputs) *reduce->add_inputs() = view;
  for (const auto& view : inits) *reduce->add_inits() = view;
  for (const auto& view : outputs) *reduce->add_outputs() = view;
  return step;
}

TEST(Reduce, SumsAndMaximaOnRandomViews) {
  for (uint64_t seed = 0; seed < 10; ++seed)
    for (const Reduced& c : kReduced)
      for (plan::ScalarOp op : {plan::ADD, plan::MAXIMUM}) {
        KernelBench bench(seed);
        const auto draw = [&] { return static_cast<float>(bench.pick(-50, 50)); };
        const plan::View in = bench.random_view<float>(plan::F32, c.shape, draw, true);
        const plan::View init = bench.scalar(plan::F32, 3.0f);
        const plan::View out = bench.random_view<float>(plan::F32, c.kept(), draw);
        bench.run(reduce_step(c, op, {in}, {init}, {out}));
        std::map<Dims, double> want;
        for_each_index(c.kept(), [&](const Dims& i) { want[i] = 3; });
        for_each_index(c.shape, [&](const Dims& i) {
          double& w = want[c.kept_index(i)];
          const double x = bench.at<float>(in, i);
          w = op == plan::ADD ? w + x : std::max(w, x);
        });
        for (const auto& [i, w] : want) ASSERT_EQ(bench.at<float>(out, i), w) << "seed " << seed;
      }
}

TEST(Reduce, Bf16AccumulatesInFloat) {
  for (const Reduced& c :
       {Reduced{{3000}, {0}}, Reduced{{1000, 3}, {0}}, Reduced{{3, 1000}, {1}}}) {
    KernelBench bench;
    // A running sum in bf16 would stick at 256.
    const plan::View in =
        bench.random_view<uint16_t>(plan::BF16, c.shape, [] { return float_to_bf16(1); });
    const plan::View out =
        bench.random_view<uint16_t>(plan::BF16, c.kept(), [] { return uint16_t{0}; });
    bench.run(reduce_step(c, plan::ADD, {in}, {bench.scalar(plan::BF16, uint16_t{0})}, {out}));
    for_each_index(c.kept(), [&](const Dims& i) {
      ASSERT_EQ(bf16_to_float(bench.at<uint16_t>(out, i)),
                bf16_to_float(float_to_bf16(c.shape[0] == 3 ? 1000.0f : float(c.shape[0]))));
    });
  }
}

TEST(Reduce, BooleansAndIntegers) {
  KernelBench bench;
  const plan::View flags = bench.dense(plan::BOOL, {2, 3}, std::vector<uint8_t>{0, 1, 0, 0, 0, 0});
  const plan::View any = bench.dense(plan::BOOL, {2}, std::vector<uint8_t>{9, 9});
  bench.run(
      reduce_step({{2, 3}, {1}}, plan::OR, {flags}, {bench.scalar(plan::BOOL, uint8_t{0})}, {any}));
  EXPECT_EQ(bench.at<uint8_t>(any, {0}), 1);
  EXPECT_EQ(bench.at<uint8_t>(any, {1}), 0);
}

// argmax: a program on two operands.
TEST(Reduce, SeveralOperands) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    for (const Reduced& c : {Reduced{{4, 50}, {1}}, Reduced{{50, 4}, {0}}, Reduced{{300}, {0}}}) {
      KernelBench bench(seed);
      const auto draw = [&] { return static_cast<float>(bench.pick(-9, 9)); };
      const plan::View values = bench.random_view<float>(plan::F32, c.shape, draw);
      Dims strides(c.shape.size(), 0);
      strides[static_cast<size_t>(c.dims[0])] = 1;
      std::vector<int32_t> iota(300);
      for (int i = 0; i < 300; ++i) iota[static_cast<size_t>(i)] = i;
      const plan::View indices = KernelBench::view(bench.add(iota), plan::S32, c.shape, strides);
      const plan::View best = bench.random_view<float>(plan::F32, c.kept(), draw),
                       where = bench.random_view<int32_t>(plan::S32, c.kept(), [] { return 0; });
      Scalars s;
      const int bv = s.input(plan::F32), bi = s.input(plan::S32), v = s.input(plan::F32),
                i = s.input(plan::S32);
      const int greater = s.compare(plan::GT, v, bv), equal = s.compare(plan::EQ, v, bv),
                earlier = s.compare(plan::LT, i, bi);
      const int tie = s.op(plan::AND, plan::BOOL, {equal, earlier});
      s.returns(
          {s.op(plan::SELECT, plan::F32, {greater, v, bv}),
           s.op(plan::SELECT, plan::S32, {s.op(plan::OR, plan::BOOL, {greater, tie}), i, bi})});
      plan::Step step = reduce_step(
          c, plan::NOP, {values, indices},
          {bench.scalar(plan::F32, -INFINITY), bench.scalar(plan::S32, int32_t{0})}, {best, where});
      *step.mutable_reduce()->mutable_program() = s.program;
      bench.run(step);
      std::map<Dims, std::pair<float, int64_t>> want;
      for_each_index(c.shape, [&](const Dims& at) {
        const float x = bench.at<float>(values, at);
        auto [it, fresh] =
            want.emplace(c.kept_index(at), std::pair{x, at[static_cast<size_t>(c.dims[0])]});
        if (!fresh && x > it->second.first) it->second = {x, at[static_cast<size_t>(c.dims[0])]};
      });
      for (const auto& [at, w] : want) {
        ASSERT_EQ(bench.at<float>(best, at), w.first);
        ASSERT_EQ(bench.at<int32_t>(where, at), w.second);
      }
    }
}

// A program that exchanges its accumulators keeps both.
TEST(Reduce, OutputsMayBeOtherAccumulators) {
  KernelBench bench;
  bench.repeat = false;
  const plan::View a = bench.dense(plan::F32, {2}, std::vector<float>{1, 2});
  const plan::View out0 = bench.scalar(plan::F32, 0.0f), out1 = bench.scalar(plan::F32, 0.0f);
  Scalars s;
  for (int i = 0; i < 4; ++i) s.input(plan::F32);
  s.returns({1, 0});
  plan::Step step =
      reduce_step({{2}, {0}}, plan::NOP, {a, a},
                  {bench.scalar(plan::F32, 5.0f), bench.scalar(plan::F32, 6.0f)}, {out0, out1});
  *step.mutable_reduce()->mutable_program() = s.program;
  bench.run(step);
  EXPECT_EQ(bench.at<float>(out0, {}), 5);  // exchanged twice
  EXPECT_EQ(bench.at<float>(out1, {}), 6);
}

}  // namespace
}  // namespace spmd::cpu
