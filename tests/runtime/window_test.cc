#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/runtime/kernel_bench.h"

namespace spmd::cpu {
namespace {

struct Window {
  Dims shape, size, stride, base, dilation, low, high;

  Dims out() const {
    Dims result;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t padded = (shape[d] - 1) * base[d] + 1 + low[d] + high[d];
      const int64_t window = (size[d] - 1) * dilation[d] + 1;
      result.push_back(padded < window ? 0 : (padded - window) / stride[d] + 1);
    }
    return result;
  }
  // The elements under the window at `position`, in order.
  template <typename Visit>
  void elements(const Dims& position, Visit visit) const {
    for_each_index(size, [&](const Dims& tap) {
      Dims at;
      for (size_t d = 0; d < shape.size(); ++d) {
        const int64_t p = position[d] * stride[d] + tap[d] * dilation[d] - low[d];
        if (p < 0 || p % base[d] != 0 || p / base[d] >= shape[d]) return;
        at.push_back(p / base[d]);
      }
      visit(at);
    });
  }
  void write(plan::Window* w) const {
    const auto set = [](google::protobuf::RepeatedField<int64_t>* field, const Dims& values) {
      field->Assign(values.begin(), values.end());
    };
    set(w->mutable_size(), size);
    set(w->mutable_stride(), stride);
    set(w->mutable_base_dilation(), base);
    set(w->mutable_window_dilation(), dilation);
    set(w->mutable_pad_low(), low);
    set(w->mutable_pad_high(), high);
  }
};

const Window kWindows[] = {
    {{2, 8, 8, 3},
     {1, 2, 2, 1},
     {1, 2, 2, 1},
     {1, 1, 1, 1},
     {1, 1, 1, 1},
     {0, 0, 0, 0},
     {0, 0, 0, 0}},
    {{2, 7, 5, 4},
     {1, 3, 3, 1},
     {1, 2, 1, 1},
     {1, 1, 1, 1},
     {1, 1, 1, 1},
     {0, 1, 1, 0},
     {0, 1, 1, 0}},
    {{5, 7, 2}, {1, 7, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 6, 0}, {0, 0, 0}},
    {{5, 7, 2}, {5, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {4, 0, 0}},
    {{10}, {10}, {1}, {1}, {1}, {9}, {0}},
    {{6, 5}, {2, 3}, {1, 1}, {2, 1}, {1, 2}, {1, -1}, {0, 2}},
};

TEST(ReduceWindow, SumsOnRandomViews) {
  for (uint64_t seed = 0; seed < 8; ++seed)
    for (const Window& w : kWindows) {
      KernelBench bench(seed);
      const auto draw = [&] { return static_cast<float>(bench.pick(-9, 9)); };
      const plan::View in = bench.random_view<float>(plan::F32, w.shape, draw),
                       out = bench.random_view<float>(plan::F32, w.out(), draw);
      plan::Step step;
      auto* reduce = step.mutable_reduce_window();
      *reduce->add_inputs() = in;
      *reduce->add_inits() = bench.scalar(plan::F32, 0.5f);
      *reduce->add_outputs() = out;
      reduce->set_op(plan::ADD);
      w.write(reduce->mutable_window());
      bench.run(step);
      for_each_index(w.out(), [&](const Dims& i) {
        float want = 0.5f;
        w.elements(i, [&](const Dims& at) { want += bench.at<float>(in, at); });
        ASSERT_EQ(bench.at<float>(out, i), want);
      });
    }
}

TEST(SelectAndScatter, SendsToTheFirstMaximum) {
  for (uint64_t seed = 0; seed < 8; ++seed)
    for (const Window& w : {kWindows[0], kWindows[1], kWindows[4]}) {
      KernelBench bench(seed);
      const auto draw = [&] { return static_cast<float>(bench.pick(-4, 4)); };
      const plan::View operand = bench.random_view<float>(plan::F32, w.shape, draw),
                       source = bench.random_view<float>(plan::F32, w.out(), draw),
                       out = bench.random_view<float>(plan::F32, w.shape, draw);
      plan::Step step;
      auto* s = step.mutable_select_and_scatter();
      *s->mutable_operand() = operand;
      *s->mutable_source() = source;
      *s->mutable_init() = bench.scalar(plan::F32, 0.0f);
      *s->mutable_out() = out;
      w.write(s->mutable_window());
      Scalars select, add;
      const int a = select.input(plan::F32), b = select.input(plan::F32);
      select.returns({select.compare(plan::GE, a, b)});
      const int x = add.input(plan::F32), y = add.input(plan::F32);
      add.returns({add.op(plan::ADD, plan::F32, {x, y})});
      *s->mutable_select() = select.program;
      *s->mutable_scatter() = add.program;
      bench.run(step);
      std::map<Dims, float> want;
      for_each_index(w.out(), [&](const Dims& i) {
        Dims best;
        w.elements(i, [&](const Dims& at) {
          if (best.empty() || !(bench.at<float>(operand, best) >= bench.at<float>(operand, at)))
            best = at;
        });
        if (!best.empty()) want[best] += bench.at<float>(source, i);
      });
      for_each_index(w.shape, [&](const Dims& i) { ASSERT_EQ(bench.at<float>(out, i), want[i]); });
    }
}

}  // namespace
}  // namespace spmd::cpu
