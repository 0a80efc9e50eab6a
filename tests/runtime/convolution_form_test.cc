// Forms of convolutions, carried out by their definition, against that of the Plan's convolution.
#include "runtime/device/convolution_form.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/runtime/kernel_bench.h"

namespace spmd {
namespace {

using cpu::assign, cpu::Dims, cpu::for_each_index, cpu::row_major_strides;

struct Case {
  int64_t batch = 1, features = 1, outs = 1;  // of the input, of a group of it, of the result
  Dims input, kernel, stride, base, dilation, low, high;
  std::vector<bool> reversal;
  int64_t feature_groups = 1, batch_groups = 1;

  size_t rank() const { return input.size(); }
  Dims out() const {
    Dims out = {batch / batch_groups, outs};
    for (size_t d = 0; d < rank(); ++d) {
      const int64_t size = (input[d] - 1) * base[d] + 1 + low[d] + high[d];
      const int64_t window = (kernel[d] - 1) * dilation[d] + 1;
      out.push_back(size < window ? 0 : (size - window) / stride[d] + 1);
    }
    return out;
  }
};

int64_t count_of(const Dims& shape) {
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  return count;
}

int64_t at(const Dims& index, const Dims& strides) {
  int64_t sum = 0;
  for (size_t d = 0; d < index.size(); ++d) sum += index[d] * strides[d];
  return sum;
}

Dims with(int64_t a, int64_t b, const Dims& spatial) {
  Dims dims = {a, b};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

// Row-major, or with the first two dimensions the other way round.
void set_view(plan::View* view, const Dims& shape, bool is_exchanged) {
  Dims strides = row_major_strides(shape);
  if (is_exchanged) {
    strides[0] = strides[1];
    strides[1] *= shape[0];
  }
  view->set_dtype(plan::F32);
  assign(view->mutable_shape(), shape);
  assign(view->mutable_strides(), strides);
}

plan::Convolution step_of(const Case& c, bool is_exchanged) {
  plan::Convolution step;
  set_view(step.mutable_input(), with(c.batch, c.features * c.feature_groups, c.input),
           is_exchanged);
  set_view(step.mutable_kernel(), with(c.outs, c.features, c.kernel), is_exchanged);
  set_view(step.mutable_out(), c.out(), is_exchanged);
  plan::Window& window = *step.mutable_window();
  assign(window.mutable_size(), c.kernel);
  assign(window.mutable_stride(), c.stride);
  assign(window.mutable_base_dilation(), c.base);
  assign(window.mutable_window_dilation(), c.dilation);
  assign(window.mutable_pad_low(), c.low);
  assign(window.mutable_pad_high(), c.high);
  for (bool reversed : c.reversal) window.add_reversal(reversed);
  step.set_feature_groups(c.feature_groups);
  step.set_batch_groups(c.batch_groups);
  return step;
}

using Values = std::vector<int64_t>;  // whole numbers, so that every order gives the same sum

Values values_of(const plan::View& view) {
  Values values(static_cast<size_t>(count_of(plan::dims_of(view.shape()))));
  int64_t state = 7;
  for (int64_t& value : values) value = (state = (state * 31 + 17) % 1009) % 19 - 9;
  return values;
}

// What StableHLO says of the convolution, in the memory of the result.
Values defined(const Case& c, const plan::Convolution& step, const Values& input,
               const Values& kernel) {
  const Dims out = c.out(), in_strides = plan::dims_of(step.input().strides()),
             kernel_strides = plan::dims_of(step.kernel().strides()),
             out_strides = plan::dims_of(step.out().strides());
  Values result(static_cast<size_t>(count_of(out)));
  for_each_index(out, [&](const Dims& index) {
    const int64_t feature_group = index[1] / (c.outs / c.feature_groups);
    const int64_t batch_group = index[1] / (c.outs / c.batch_groups);
    for_each_index(with(1, c.features, c.kernel), [&](const Dims& tap) {
      Dims from = {index[0] + batch_group * (c.batch / c.batch_groups),
                   feature_group * c.features + tap[1]};
      Dims weight = {index[1], tap[1]};
      bool inside = true;
      for (size_t d = 0; d < c.rank(); ++d) {
        const int64_t p = index[d + 2] * c.stride[d] + tap[d + 2] * c.dilation[d] - c.low[d];
        inside = inside && p >= 0 && p % c.base[d] == 0 && p / c.base[d] < c.input[d];
        from.push_back(p / c.base[d]);
        const bool reversed = !c.reversal.empty() && c.reversal[d];
        weight.push_back(reversed ? c.kernel[d] - 1 - tap[d + 2] : tap[d + 2]);
      }
      if (inside)
        result[static_cast<size_t>(at(index, out_strides))] +=
            input[static_cast<size_t>(at(from, in_strides))] *
            kernel[static_cast<size_t>(at(weight, kernel_strides))];
    });
  });
  return result;
}

// Element [first, ...] of a tensor whose first dimension is in two parts.
size_t element(const ConvolutionTensor& tensor, Dims index) {
  const int64_t first = index[0];
  index[0] = first % tensor.shape[1];
  index.insert(index.begin(), first / tensor.shape[1]);
  return static_cast<size_t>(tensor.offset + at(index, tensor.strides));
}

// What the library does with the form.
Values carried_out(const ConvolutionForm& form, Values input, Values kernel, Values out) {
  Values *x = &input, *w = &kernel, *y = &out;
  if (form.kind == ConvolutionKind::kDataGradient) std::swap(x, y);
  if (form.kind == ConvolutionKind::kFilterGradient) std::swap(w, y);
  const Dims xs = form.x.dims(), ws = form.w.dims(), ys = form.y.dims();
  const int64_t groups = xs[1] / ws[1];
  const Dims taps = with(1, ws[1], Dims(ws.begin() + 2, ws.end()));
  for_each_index(ys, [&](const Dims& image) {
    for_each_index(taps, [&](const Dims& tap) {
      Dims from = {image[0], image[1] / (ys[1] / groups) * ws[1] + tap[1]};
      Dims weight = {image[1], tap[1]};
      bool inside = true;
      for (size_t d = 2; d < ys.size(); ++d) {
        const size_t s = d - 2;
        from.push_back(image[d] * form.stride[s] + tap[d] * form.dilation[s] - form.pre[s]);
        inside = inside && from[d] >= 0 && from[d] < xs[d];
        weight.push_back(tap[d]);
      }
      if (!inside) return;
      int64_t& x_value = (*x)[element(form.x, from)];
      int64_t& w_value = (*w)[element(form.w, weight)];
      int64_t& y_value = (*y)[element(form.y, image)];
      if (form.kind == ConvolutionKind::kForward) y_value += x_value * w_value;
      if (form.kind == ConvolutionKind::kDataGradient) x_value += y_value * w_value;
      if (form.kind == ConvolutionKind::kFilterGradient) w_value += x_value * y_value;
    });
  });
  return out;
}

// The sizes that the library checks.
void expect_sound(const ConvolutionForm& form) {
  const Dims xs = form.x.dims(), ws = form.w.dims(), ys = form.y.dims();
  EXPECT_EQ(xs[0], ys[0]);
  EXPECT_EQ(ws[0], ys[1]);
  EXPECT_EQ(xs[1] % ws[1], 0);
  ASSERT_EQ(form.stride.size(), xs.size() - 2);
  ASSERT_GE(form.stride.size(), 2U);
  for (size_t s = 0; s < form.stride.size(); ++s) {
    EXPECT_GE(form.pre[s], 0);
    EXPECT_GE(form.post[s], 0);
    const int64_t room =
        xs[s + 2] + form.pre[s] + form.post[s] - (ws[s + 2] - 1) * form.dilation[s] - 1;
    EXPECT_GE(room, 0);
    EXPECT_EQ(ys[s + 2], 1 + room / form.stride[s]);
  }
}

std::vector<ConvolutionKind> check_forms(const Case& c, bool is_exchanged = false) {
  const plan::Convolution step = step_of(c, is_exchanged);
  const Values input = values_of(step.input()), kernel = values_of(step.kernel());
  const Values wanted = defined(c, step, input, kernel);
  std::vector<ConvolutionKind> kinds;
  for (const ConvolutionForm& form : convolution_forms(step)) {
    expect_sound(form);
    EXPECT_EQ(carried_out(form, input, kernel, Values(wanted.size())), wanted)
        << step.DebugString();
    kinds.push_back(form.kind);
  }
  return kinds;
}

using Kind = ConvolutionKind;
using Kinds = std::vector<ConvolutionKind>;

// Of 3 x 3 taps over 8 x 8 points, every second one, padded as little as SAME does it: the three
// convolutions of a training step.
TEST(ConvolutionForm, TheThreeOfATrainingStep) {
  const Case forward{2, 3, 4, {8, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, {1, 1}};
  ASSERT_EQ(forward.out(), (Dims{2, 4, 4, 4}));
  EXPECT_EQ(check_forms(forward), (Kinds{Kind::kForward, Kind::kFilterGradient}));
  const Case data{2, 4, 3, {4, 4}, {3, 3}, {1, 1}, {2, 2}, {1, 1}, {2, 2}, {1, 1}, {true, true}};
  ASSERT_EQ(data.out(), (Dims{2, 3, 8, 8}));
  EXPECT_EQ(check_forms(data), Kinds{Kind::kDataGradient});
  const Case filter{3, 2, 4, {8, 8}, {4, 4}, {1, 1}, {1, 1}, {2, 2}, {0, 0}, {1, 1}};
  ASSERT_EQ(filter.out(), (Dims{3, 4, 3, 3}));
  EXPECT_EQ(check_forms(filter).front(), Kind::kFilterGradient);
}

TEST(ConvolutionForm, Groups) {
  const Case forward{2, 2, 6, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {}, 3, 1};
  EXPECT_EQ(check_forms(forward), (Kinds{Kind::kForward, Kind::kDataGradient}));
  const Case data{2,      2,      6,      {5, 5},       {3, 3}, {1, 1}, {2, 2},
                  {1, 1}, {1, 1}, {1, 1}, {true, true}, 3,      1};
  EXPECT_EQ(check_forms(data), Kinds{Kind::kDataGradient});
  const Case filter{6, 2, 6, {5, 5}, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {}, 1, 3};
  EXPECT_EQ(check_forms(filter), Kinds{Kind::kFilterGradient});
}

TEST(ConvolutionForm, OtherNumbersOfDimensions) {
  const Case line{2, 3, 4, {9}, {3}, {2}, {1}, {1}, {1}, {0}};
  EXPECT_EQ(check_forms(line), (Kinds{Kind::kForward, Kind::kFilterGradient}));
  const Case point{2, 3, 4, {}, {}, {}, {}, {}, {}, {}};
  EXPECT_EQ(check_forms(point).front(), Kind::kForward);
  const Case space{1,         2,         2,         {3, 4, 5}, {2, 2, 2},
                   {1, 2, 1}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {1, 0, 1}};
  EXPECT_EQ(check_forms(space), (Kinds{Kind::kForward, Kind::kFilterGradient}));
  const Case more{1,          1,          1,          Dims(4, 2), Dims(4, 1),
                  Dims(4, 1), Dims(4, 1), Dims(4, 1), Dims(4, 0), Dims(4, 0)};
  EXPECT_EQ(check_forms(more), Kinds{});
}

TEST(ConvolutionForm, SomeDimensionsReversed) {
  const Case mixed{1, 2, 3, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {true, false}};
  EXPECT_EQ(check_forms(mixed).size(), 3U);
}

TEST(ConvolutionForm, LeavesWhatIsNone) {
  const Case both{1, 2, 3, {5, 5}, {3, 3}, {2, 2}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {}};
  EXPECT_EQ(check_forms(both), Kinds{});
  const Case nothing{1, 2, 3, {2, 2}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {}};
  EXPECT_EQ(check_forms(nothing), Kinds{});
}

// Of all that is drawn, every kind is found often, and each form is exact.
TEST(ConvolutionForm, RandomConvolutions) {
  std::mt19937 random(5);
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  std::array<int, 3> found{};
  for (int i = 0; i < 1000; ++i) {
    Case c;
    const int64_t groups = draw(0, 2) == 0 ? draw(2, 3) : 1;
    (draw(0, 1) == 0 ? c.feature_groups : c.batch_groups) = groups;
    c.batch = draw(1, 2) * c.batch_groups;
    c.features = draw(1, 3);
    c.outs = draw(1, 2) * groups;
    const bool all_reversed = draw(0, 1) == 1, is_mixed = draw(0, 9) == 0;
    const bool strides = draw(0, 1) == 1, dilates = draw(0, 2) == 0;
    for (int64_t d = draw(0, 3); d > 0; --d) {
      c.input.push_back(draw(1, 5));
      c.kernel.push_back(draw(1, 4));
      c.stride.push_back(strides ? draw(1, 3) : 1);
      c.base.push_back(dilates ? draw(1, 3) : 1);
      c.dilation.push_back(draw(1, 2));
      c.low.push_back(draw(-2, 4));
      c.high.push_back(draw(-2, 4));
      c.reversal.push_back(is_mixed ? draw(0, 1) == 1 : all_reversed);
    }
    for (Kind kind : check_forms(c, draw(0, 1) == 1)) ++found[static_cast<size_t>(kind)];
    if (HasFailure()) return;
  }
  for (int count : found) EXPECT_GT(count, 100);
}

}  // namespace
}  // namespace spmd
