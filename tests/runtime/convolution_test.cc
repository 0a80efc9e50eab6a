#include <gtest/gtest.h>

#include <cmath>

#include "support/float_formats.h"
#include "tests/runtime/kernel_bench.h"

namespace spmd::cpu {
namespace {

struct Case {
  int64_t batch, features, outs;
  Dims input, kernel, stride, base, dilation, low, high;
  std::vector<bool> reversal;
  int64_t feature_groups = 1, batch_groups = 1;
};

int64_t out_size(const Case& c, size_t d) {
  const int64_t base = (c.input[d] - 1) * c.base[d] + 1 + c.low[d] + c.high[d];
  const int64_t window = (c.kernel[d] - 1) * c.dilation[d] + 1;
  return base < window ? 0 : (base - window) / c.stride[d] + 1;
}

const Case kCases[] = {
    {2, 3, 4, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {}},
    {2, 4, 6, {8, 8}, {3, 2}, {2, 1}, {1, 1}, {1, 2}, {0, 1}, {1, 0}, {}, 2, 1},
    {2, 4, 4, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {}, 4, 1},
    {1, 2, 3, {4, 5}, {3, 3}, {1, 1}, {2, 2}, {1, 1}, {2, 1}, {1, 2}, {true, true}},
    {4, 2, 6, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {2, 1}, {2, 1}, {2, 1}, {}, 1, 2},
    {1, 2, 3, {7}, {2}, {2}, {1}, {1}, {-1}, {-2}, {false}},
    {2, 1, 1, {9}, {4}, {1}, {3}, {2}, {5}, {-3}, {true}},
    {3, 5, 7, {}, {}, {}, {}, {}, {}, {}, {}},
    {1, 2, 2, {3, 4, 5}, {2, 2, 2}, {1, 2, 1}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {1, 0, 1}, {}},
    {1, 1, 2, {3}, {5}, {1}, {1}, {1}, {0}, {0}, {}},
    {1, 1, 1, {4}, {1}, {1}, {1}, {1}, {-4}, {3}, {}},
};

plan::Step conv_step(const Case& c, const plan::View& in, const plan::View& kernel,
                     const plan::View& out) {
  plan::Step step;
  plan::Convolution* conv = step.mutable_convolution();
  *conv->mutable_input() = in;
  *conv->mutable_kernel() = kernel;
  *conv->mutable_out() = out;
  plan::Window* w = conv->mutable_window();
  assign(w->mutable_size(), c.kernel);
  assign(w->mutable_stride(), c.stride);
  assign(w->mutable_base_dilation(), c.base);
  assign(w->mutable_window_dilation(), c.dilation);
  assign(w->mutable_pad_low(), c.low);
  assign(w->mutable_pad_high(), c.high);
  for (bool reversal : c.reversal) w->add_reversal(reversal);
  conv->set_feature_groups(c.feature_groups);
  conv->set_batch_groups(c.batch_groups);
  return step;
}

// By the definition, one output at a time.
template <typename Input, typename Kernel>
double exact(const Case& c, const Dims& out, Input input, Kernel kernel) {
  const int64_t per_group = c.features / c.feature_groups;
  const int64_t feature_group = out[1] / (c.outs / c.feature_groups);
  const int64_t batch_group = out[1] / (c.outs / c.batch_groups);
  double sum = 0;
  for_each_index(c.kernel, [&](const Dims& tap) {
    Dims at{out[0] + batch_group * (c.batch / c.batch_groups), 0};
    Dims k{out[1], 0};
    for (size_t d = 0; d < tap.size(); ++d) {
      const int64_t p = out[d + 2] * c.stride[d] + tap[d] * c.dilation[d] - c.low[d];
      if (p < 0 || p % c.base[d] != 0 || p / c.base[d] >= c.input[d]) return;
      at.push_back(p / c.base[d]);
      const bool reversed = !c.reversal.empty() && c.reversal[d];
      k.push_back(reversed ? c.kernel[d] - 1 - tap[d] : tap[d]);
    }
    for (int64_t f = 0; f < per_group; ++f) {
      at[1] = feature_group * per_group + f;
      k[1] = f;
      sum += input(at) * kernel(k);
    }
  });
  return sum;
}

Dims with(int64_t a, int64_t b, const Dims& spatial) {
  Dims shape{a, b};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

Dims out_shape(const Case& c) {
  Dims spatial;
  for (size_t d = 0; d < c.input.size(); ++d) spatial.push_back(out_size(c, d));
  return with(c.batch / c.batch_groups, c.outs, spatial);
}

TEST(Convolution, F32OnRandomViews) {
  for (uint64_t seed = 0; seed < 6; ++seed)
    for (const Case& c : kCases) {
      KernelBench bench(seed);
      const auto draw = [&] { return static_cast<float>(bench.pick(-4, 4)); };
      const plan::View in =
          bench.random_view<float>(plan::F32, with(c.batch, c.features, c.input), draw);
      const plan::View kernel = bench.random_view<float>(
          plan::F32, with(c.outs, c.features / c.feature_groups, c.kernel), draw);
      const Dims shape = out_shape(c);
      const plan::View out = bench.random_view<float>(plan::F32, shape, draw);
      bench.run(conv_step(c, in, kernel, out));
      for_each_index(shape, [&](const Dims& i) {
        ASSERT_EQ(bench.at<float>(out, i),
                  exact(
                      c, i, [&](const Dims& at) { return bench.at<float>(in, at); },
                      [&](const Dims& at) { return bench.at<float>(kernel, at); }))
            << "seed " << seed << " case " << &c - kCases;
      });
    }
}

TEST(Convolution, Bf16AndF64) {
  for (const Case& c : kCases) {
    KernelBench bench(5);
    const Dims shape = out_shape(c);
    const auto narrow = [&] { return float_to_bf16(static_cast<float>(bench.pick(-4, 4))); };
    const auto wide = [&] { return static_cast<double>(bench.pick(-4, 4)); };
    const Dims in_shape = with(c.batch, c.features, c.input);
    const Dims kernel_shape = with(c.outs, c.features / c.feature_groups, c.kernel);
    const plan::View in = bench.random_view<uint16_t>(plan::BF16, in_shape, narrow),
                     kernel = bench.random_view<uint16_t>(plan::BF16, kernel_shape, narrow),
                     out = bench.random_view<uint16_t>(plan::BF16, shape, narrow);
    bench.run(conv_step(c, in, kernel, out));
    const plan::View x = bench.random_view<double>(plan::F64, in_shape, wide),
                     k = bench.random_view<double>(plan::F64, kernel_shape, wide),
                     y = bench.random_view<double>(plan::F64, shape, wide);
    bench.run(conv_step(c, x, k, y));
    for_each_index(shape, [&](const Dims& i) {
      const double want = exact(
          c, i, [&](const Dims& at) { return bf16_to_float(bench.at<uint16_t>(in, at)); },
          [&](const Dims& at) { return bf16_to_float(bench.at<uint16_t>(kernel, at)); });
      ASSERT_EQ(bench.at<uint16_t>(out, i), float_to_bf16(static_cast<float>(want)));
      ASSERT_EQ(bench.at<double>(y, i),
                exact(
                    c, i, [&](const Dims& at) { return bench.at<double>(x, at); },
                    [&](const Dims& at) { return bench.at<double>(k, at); }));
    });
  }
}

}  // namespace
}  // namespace spmd::cpu
