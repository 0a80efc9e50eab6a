#include "runtime/device/cuda/library_convolution.h"

#include <fmt/ranges.h>

#include <exception>

#include "runtime/device/cuda/views.h"

namespace spmd::cuda {
namespace {

// What engines expect of addresses.
constexpr int64_t kConvolutionAlignment = 16;

// Strides of a dense copy over the shape of a tensor, whose first dimension may be in two parts.
std::vector<int64_t> packed_strides(const ConvolutionTensor& tensor, ConvolutionLayout layout) {
  std::vector<int64_t> strides = strides_in(layout, tensor.dims());
  strides.insert(strides.begin(), tensor.shape[1] * strides[0]);
  return strides;
}

const ConvolutionTensor& result_of(const ConvolutionForm& form) {
  switch (form.kind) {
    case ConvolutionKind::kDataGradient:
      return form.x;
    case ConvolutionKind::kFilterGradient:
      return form.w;
    default:
      return form.y;
  }
}

}  // namespace

// Strides of dimensions of size 1 mean nothing.
bool LibraryConvolution::lies_in_layout(const ConvolutionTensor& tensor,
                                        ConvolutionLayout layout) const {
  const std::vector<int64_t> wanted = packed_strides(tensor, layout);
  for (size_t d = 0; d < wanted.size(); ++d)
    if (tensor.shape[d] > 1 && tensor.strides[d] != wanted[d]) return false;
  return true;
}

bool LibraryConvolution::place(CudaDevice& device, const plan::View& view,
                               const ConvolutionTensor& tensor, bool is_result, Place& to) {
  BoundView bound(view);
  to.view_offset = tensor.offset * bound.element_bytes;
  bound.offset += to.view_offset;
  if (lies_in_layout(tensor, layout_) &&
      alignment_of(device.plan(), bound) % kConvolutionAlignment == 0)
    return true;
  const std::vector<int64_t> packed = packed_strides(tensor, layout_);
  to.packer = is_result ? Packer::make(device, tensor.shape, tensor.strides, dtype_, packed, dtype_,
                                       plan::INVALID)
                        : Packer::make(device, tensor.shape, packed, dtype_, tensor.strides, dtype_,
                                       plan::INVALID);
  int64_t bytes = bound.element_bytes;
  for (int64_t size : tensor.shape) bytes *= size;
  to.packed_offset = packed_bytes_;
  packed_bytes_ += (bytes + 255) / 256 * 256;
  return to.packer != nullptr;
}

// Features last, which the fastest engines want, unless both images lie the other way.
bool LibraryConvolution::place(CudaDevice& device, const plan::Convolution& step) {
  const auto both = [&](ConvolutionLayout layout) {
    return lies_in_layout(form_.x, layout) && lies_in_layout(form_.y, layout);
  };
  if (both(ConvolutionLayout::kFeaturesFirst) && !both(ConvolutionLayout::kFeaturesLast))
    layout_ = ConvolutionLayout::kFeaturesFirst;
  x_.view = &ConvolutionViews::input;
  w_.view = &ConvolutionViews::kernel;
  y_.view = &ConvolutionViews::out;
  if (form_.kind == ConvolutionKind::kDataGradient) std::swap(x_.view, y_.view);
  if (form_.kind == ConvolutionKind::kFilterGradient) std::swap(w_.view, y_.view);
  const auto one = [&](Place& to, const ConvolutionTensor& tensor) {
    const plan::View& view = to.view == &ConvolutionViews::input    ? step.input()
                             : to.view == &ConvolutionViews::kernel ? step.kernel()
                                                                    : step.out();
    return place(device, view, tensor, &tensor == &result_of(form_), to);
  };
  return one(x_, form_.x) && one(w_, form_.w) && one(y_, form_.y);
}

std::unique_ptr<LibraryConvolution> LibraryConvolution::make(const plan::Convolution& step,
                                                             CudaDevice& device, std::string& why) {
  try {
    return make_of_forms(step, device, why);
  } catch (const std::exception& error) {  // cuDNN does not start, or parts of it are missing
    why = error.what();
    return nullptr;
  }
}

std::unique_ptr<LibraryConvolution> LibraryConvolution::make_of_forms(const plan::Convolution& step,
                                                                      CudaDevice& device,
                                                                      std::string& why) {
  const plan::DType dtype = step.out().dtype();
  if (dtype != plan::F32 && dtype != plan::BF16 && dtype != plan::F16) {
    why = "cuDNN does not convolve this type";
    return nullptr;
  }
  why = why_no_cudnn();
  if (!why.empty()) return nullptr;
  why = "cuDNN has no operation of this kind";
  for (ConvolutionForm& form : convolution_forms(step)) {
    std::unique_ptr<LibraryConvolution> made(new LibraryConvolution);
    made->form_ = std::move(form);
    made->dtype_ = dtype;
    if (!made->place(device, step)) continue;
    made->cudnn_ = make_cudnn_convolution(device.cudnn(), made->form_, made->layout_, dtype, why);
    if (made->cudnn_) return made;
  }
  return nullptr;
}

bool LibraryConvolution::run(size_t engine, const ConvolutionViews& at, std::byte* workspace) {
  const auto view = [&](const Place& place) { return at.*place.view + place.view_offset; };
  const auto seen = [&](const Place& place) {
    return place.packer ? workspace + place.packed_offset : view(place);
  };
  const Place& result = form_.kind == ConvolutionKind::kDataGradient     ? x_
                        : form_.kind == ConvolutionKind::kFilterGradient ? w_
                                                                         : y_;
  for (const Place* place : {&x_, &w_, &y_})
    if (place->packer && place != &result) place->packer->run(seen(*place), view(*place));
  if (!cudnn_->run(engine, {seen(x_), seen(w_), seen(y_)}, workspace + packed_bytes_)) return false;
  if (result.packer) result.packer->run(view(result), seen(result));
  return true;
}

std::string LibraryConvolution::text() const {
  std::string text =
      fmt::format("convolution by cuDNN {}, {} of type {}: stride {}, dilation {}, padding {} {}",
                  cudnn_version(), static_cast<int>(form_.kind), static_cast<int>(dtype_),
                  fmt::join(form_.stride, " "), fmt::join(form_.dilation, " "),
                  fmt::join(form_.pre, " "), fmt::join(form_.post, " "));
  const auto add = [&](const char* name, const ConvolutionTensor& tensor, const Place& place) {
    text += fmt::format(", {} {} strides {}{}", name, fmt::join(tensor.shape, " "),
                        fmt::join(tensor.strides, " "), place.packer ? " packed" : "");
  };
  add("x", form_.x, x_);
  add("w", form_.w, w_);
  add("y", form_.y, y_);
  return text;
}

}  // namespace spmd::cuda
