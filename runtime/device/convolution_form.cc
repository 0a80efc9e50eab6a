#include "runtime/device/convolution_form.h"

#include <algorithm>
#include <optional>

namespace spmd {

std::vector<int64_t> ConvolutionTensor::dims() const {
  std::vector<int64_t> dims(shape.begin() + 1, shape.end());
  dims[0] *= shape[0];
  return dims;
}

namespace {

constexpr size_t kFirstSpatial = 3;  // of a ConvolutionTensor

// The convolution with at least two spatial dimensions. Numbers that decide nothing are 1.
struct Geometry {
  ConvolutionTensor input, kernel, out;
  std::vector<int64_t> stride, base, dilation, low;
  int64_t feature_groups = 1, batch_groups = 1;

  size_t rank() const { return stride.size(); }
  int64_t size(const ConvolutionTensor& tensor, size_t d) const {
    return tensor.shape[kFirstSpatial + d];
  }
};

ConvolutionTensor tensor_of(const plan::View& view, size_t missing) {
  const auto shape = plan::dims_of(view.shape()), strides = plan::dims_of(view.strides());
  ConvolutionTensor tensor{{1, shape[0], shape[1]}, {0, strides[0], strides[1]}};
  tensor.shape.insert(tensor.shape.end(), missing, 1);
  tensor.strides.insert(tensor.strides.end(), missing, 0);
  tensor.shape.insert(tensor.shape.end(), shape.begin() + 2, shape.end());
  tensor.strides.insert(tensor.strides.end(), strides.begin() + 2, strides.end());
  return tensor;
}

// Counts the indices of a dimension from its last one.
void reverse(ConvolutionTensor& tensor, size_t d) {
  tensor.offset += (tensor.shape[d] - 1) * tensor.strides[d];
  tensor.strides[d] = -tensor.strides[d];
}

Geometry geometry_of(const plan::Convolution& step) {
  const plan::Window& window = step.window();
  const int given = window.size_size();
  const size_t missing = given < 2 ? static_cast<size_t>(2 - given) : 0;
  Geometry g{tensor_of(step.input(), missing),
             tensor_of(step.kernel(), missing),
             tensor_of(step.out(), missing),
             {},
             {},
             {},
             {}};
  g.feature_groups = step.feature_groups();
  g.batch_groups = step.batch_groups();
  for (std::vector<int64_t>* of : {&g.stride, &g.base, &g.dilation}) of->assign(missing, 1);
  g.low.assign(missing, 0);
  for (int d = 0; d < given; ++d) {
    const size_t at = kFirstSpatial + g.rank();
    g.stride.push_back(g.out.shape[at] == 1 ? 1 : window.stride(d));
    g.base.push_back(g.input.shape[at] == 1 ? 1 : window.base_dilation(d));
    g.dilation.push_back(window.size(d) == 1 ? 1 : window.window_dilation(d));
    g.low.push_back(window.pad_low(d));
    if (d < window.reversal_size() && window.reversal(d)) reverse(g.kernel, at);
  }
  return g;
}

bool has_elements(const ConvolutionTensor& tensor) {
  return std::all_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t n) { return n > 0; });
}

bool are_ones(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t n) { return n == 1; });
}

// With batch (or out feature) and feature exchanged.
ConvolutionTensor exchanged(ConvolutionTensor tensor) {
  std::swap(tensor.shape[1], tensor.shape[2]);
  std::swap(tensor.strides[1], tensor.strides[2]);
  return tensor;
}

// Sets the padding behind so that y has the size it has: what is read of x with its padding is
// `reach` long. As much as before where that is possible, which more engines know. False when x is
// too long.
bool pad_behind(ConvolutionForm& form, size_t d, int64_t reach) {
  const int64_t least = reach - form.x.shape[kFirstSpatial + d] - form.pre[d];
  const int64_t most = least + form.stride[d] - 1;
  if (most < 0) return false;
  form.post.push_back(std::clamp(form.pre[d], std::max<int64_t>(least, 0), most));
  return true;
}

int64_t reach_of(const ConvolutionForm& form, size_t d) {
  return (form.y.shape[kFirstSpatial + d] - 1) * form.stride[d] +
         (form.w.shape[kFirstSpatial + d] - 1) * form.dilation[d] + 1;
}

// For the two forms that read x, whose padding may be negative: what is not read is cut off.
bool pad_or_cut(ConvolutionForm& form, const std::vector<int64_t>& low) {
  for (size_t d = 0; d < low.size(); ++d) {
    int64_t& size = form.x.shape[kFirstSpatial + d];
    const int64_t cut = std::max<int64_t>(-low[d], 0);
    size -= cut;
    form.x.offset += cut * form.x.strides[kFirstSpatial + d];
    form.pre.push_back(std::max<int64_t>(low[d], 0));
    const int64_t reach = reach_of(form, d);
    size = std::min(size, reach - form.pre[d]);
    if (size < 1 || !pad_behind(form, d, reach)) return false;
  }
  return true;
}

std::optional<ConvolutionForm> forward(const Geometry& g) {
  if (!are_ones(g.base) || g.batch_groups > 1) return std::nullopt;
  ConvolutionForm form{ConvolutionKind::kForward, g.input, g.kernel, g.out};
  form.stride = g.stride;
  form.dilation = g.dilation;
  if (!pad_or_cut(form, g.low)) return std::nullopt;
  return form;
}

// Features are added up as images are, and the batch of the result is x's features.
std::optional<ConvolutionForm> filter_gradient(const Geometry& g) {
  if (!are_ones(g.base) || g.feature_groups > 1) return std::nullopt;
  ConvolutionForm form{ConvolutionKind::kFilterGradient, exchanged(g.input), exchanged(g.out),
                       exchanged(g.kernel)};
  form.stride = g.dilation;
  form.dilation = g.stride;
  if (!pad_or_cut(form, g.low)) return std::nullopt;
  return form;
}

// The kernel as [group, feature of y in it, feature of x in it, spatial...].
ConvolutionTensor grouped(const ConvolutionTensor& kernel, int64_t groups) {
  ConvolutionTensor w = exchanged(kernel);
  w.shape[2] /= groups;
  w.shape[0] = groups;
  w.strides[0] = w.shape[2] * w.strides[2];
  return w;
}

std::optional<ConvolutionForm> data_gradient(const Geometry& g) {
  if (!are_ones(g.stride) || g.batch_groups > 1) return std::nullopt;
  ConvolutionForm form{ConvolutionKind::kDataGradient, g.out, grouped(g.kernel, g.feature_groups),
                       g.input};
  form.stride = g.base;
  form.dilation = g.dilation;
  for (size_t d = 0; d < g.rank(); ++d) {
    reverse(form.w, kFirstSpatial + d);  // the first tap here is the last one of the gradient
    form.pre.push_back((g.size(g.kernel, d) - 1) * g.dilation[d] - g.low[d]);
    if (form.pre[d] < 0 || !pad_behind(form, d, reach_of(form, d))) return std::nullopt;
  }
  return form;
}

// Whether taps lie the other way round in memory, as they do where gradients are written.
bool is_reversed(const ConvolutionTensor& kernel) {
  return std::any_of(kernel.strides.begin() + kFirstSpatial, kernel.strides.end(),
                     [](int64_t stride) { return stride < 0; });
}

int64_t spatial_count(const ConvolutionTensor& tensor) {
  int64_t count = 1;
  for (size_t d = kFirstSpatial; d < tensor.shape.size(); ++d) count *= tensor.shape[d];
  return count;
}

}  // namespace

std::vector<ConvolutionForm> convolution_forms(const plan::Convolution& step) {
  constexpr int kMostSpatial = 3;
  if (step.window().size_size() > kMostSpatial) return {};
  const Geometry g = geometry_of(step);
  if (!has_elements(g.input) || !has_elements(g.kernel) || !has_elements(g.out)) return {};
  std::vector<std::optional<ConvolutionForm>> found;
  if (is_reversed(g.kernel)) {
    found = {data_gradient(g), forward(g), filter_gradient(g)};
  } else if (spatial_count(g.kernel) > spatial_count(g.out)) {
    found = {filter_gradient(g), forward(g), data_gradient(g)};
  } else {
    found = {forward(g), data_gradient(g), filter_gradient(g)};
  }
  std::vector<ConvolutionForm> forms;
  for (auto& form : found)
    if (form) forms.push_back(std::move(*form));
  return forms;
}

}  // namespace spmd
