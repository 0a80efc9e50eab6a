#include <algorithm>
#include <cstring>

#include "runtime/device/cpu/image_to_columns.h"
#include "runtime/device/cpu/kernel.h"
#include "runtime/device/cpu/onednn.h"
#include "runtime/device/cpu/packer.h"

namespace spmd::cpu {
namespace {

using Dims = std::vector<int64_t>;

// A tensor of the convolution where the computation sees it: in its own buffer, or packed.
struct Tensor {
  BoundView view;
  Dims shape, strides;  // of what the computation sees
  std::unique_ptr<Packer> packer;
  int64_t view_offset = 0;   // bytes, of the first element packed
  int64_t dense_offset = 0;  // bytes in the workspace
  int64_t first = 0;         // bytes in the packed storage, of the first element packed
  int64_t zeroed_bytes = 0;  // of the packed storage, before packing
};

class ConvolutionKernel : public Kernel {
 public:
  ConvolutionKernel(const plan::Convolution& step, LoadContext& context)
      : lane_(lane_of(step.out().dtype())) {
    input_.view = BoundView(step.input());
    kernel_.view = BoundView(step.kernel());
    out_.view = BoundView(step.out());
    ConvolutionProblem p;
    p.groups = step.feature_groups() * step.batch_groups();
    p.stride = plan::dims_of(step.window().stride());
    p.dilation = plan::dims_of(step.window().window_dilation());
    p.pad_low = plan::dims_of(step.window().pad_low());
    p.pad_high = plan::dims_of(step.window().pad_high());
    place_input(step, p);
    place_kernel(step);
    place_out();
    p.input = input_.shape;
    p.input_strides = input_.strides;
    p.kernel = kernel_.shape;
    p.kernel_strides = kernel_.strides;
    p.out = out_.shape;
    p.out_strides = out_.strides;
    if (lane_ == Lane::kF32) call_ = make_onednn_convolution(p);
    if (!call_) use_columns(p);
    context.need_workspace(workspace_);
  }

  // Negative padding removes all of the input. The kernel must then not be run.
  bool reads_nothing() const { return reads_nothing_; }

  void run(const RunContext& context) override {
    const std::byte* input = prepare(input_, context);
    const std::byte* kernel = prepare(kernel_, context);
    std::byte* out = out_.packer ? context.workspace + out_.dense_offset : out_.view.data(context);
    if (columns_) columns_->set_columns(context.workspace + columns_offset_);
    call_->run(input, kernel, out);
    if (out_.packer) out_.packer->run(out_.view.data(context), out, context.workspace);
  }

 private:
  static const std::byte* prepare(Tensor& tensor, const RunContext& context) {
    std::byte* view = tensor.view.data(context) + tensor.view_offset;
    if (!tensor.packer) return view;
    std::byte* dense = context.workspace + tensor.dense_offset;
    if (tensor.zeroed_bytes > 0) std::memset(dense, 0, static_cast<size_t>(tensor.zeroed_bytes));
    tensor.packer->run(view, dense + tensor.first, context.workspace);
    return dense;
  }

  // Whether the computation can use the tensor where it is. The library takes no negative strides.
  bool is_usable(const Tensor& tensor) const {
    const bool forwards = std::all_of(tensor.view.strides.begin(), tensor.view.strides.end(),
                                      [](int64_t stride) { return stride >= 0; });
    return forwards && !is_packed(tensor.view.dtype) && lane_of(tensor.view.dtype) == lane_;
  }

  // Packs elements `shape`, at `view_strides` from the tensor's first one, to `dense_strides`.
  void pack(Tensor& tensor, Dims shape, Dims view_strides, Dims dense_strides, bool unpack) {
    tensor.dense_offset = workspace_;
    int64_t count = 1;
    for (int64_t size : tensor.shape) count *= size;
    workspace_ += align_workspace(count * lane_bytes(lane_));
    Iteration it{std::move(shape), {std::move(view_strides), std::move(dense_strides)}};
    tensor.packer =
        std::make_unique<Packer>(std::move(it), tensor.view.dtype, lane_, plan::INVALID, unpack);
  }

  // Batch groups become feature groups: group g of the batch holds the inputs of group g of the
  // out features. Base dilation and negative padding are written out.
  void place_input(const plan::Convolution& step, ConvolutionProblem& p) {
    const int64_t groups = step.batch_groups();
    const Dims base = plan::dims_of(step.window().base_dilation());
    Dims shape = input_.view.shape, strides = input_.view.strides;
    bool spread = false;
    for (size_t d = 0; d < base.size(); ++d)
      spread = spread || base[d] != 1 || p.pad_low[d] < 0 || p.pad_high[d] < 0;
    input_.shape = shape;
    input_.shape[0] /= groups;
    input_.shape[1] *= groups;
    if (groups == 1 && !spread && is_usable(input_)) {
      input_.strides = strides;
      return;
    }
    // Taken elements as (batch, group, feature, spatial...).
    Dims taken{shape[0] / groups, groups, shape[1]};
    Dims from{strides[0], strides[0] * (shape[0] / groups), strides[1]};
    Dims first(base.size(), 0);
    for (size_t d = 0; d < base.size(); ++d) {
      const auto [begin, end] = spread_dim(d, base[d], shape[d + 2], p, first[d]);
      taken.push_back(end - begin);
      from.push_back(strides[d + 2]);
      input_.view_offset += begin * strides[d + 2] * input_.view.element_bytes;
    }
    input_.strides = row_major(input_.shape);
    Dims to{input_.strides[0], input_.strides[1] * shape[1], input_.strides[1]};
    for (size_t d = 0; d < base.size(); ++d) {
      to.push_back(input_.strides[d + 2] * (spread ? base[d] : 1));
      input_.first += first[d] * input_.strides[d + 2] * lane_bytes(lane_);
    }
    reads_nothing_ = std::find(taken.begin(), taken.end(), 0) != taken.end();
    if (reads_nothing_) std::fill(taken.begin(), taken.end(), 1);
    pack(input_, taken, from, to, false);
    if (spread) {
      int64_t count = 1;
      for (int64_t size : input_.shape) count *= size;
      input_.zeroed_bytes = count * lane_bytes(lane_);
    }
  }

  // Writes out the dilation and padding of spatial dimension d: sets its padded size, removes its
  // padding from the problem, and gives the range of elements that stay and where the first goes.
  std::pair<int64_t, int64_t> spread_dim(size_t d, int64_t base, int64_t size,
                                         ConvolutionProblem& p, int64_t& first) {
    if (base == 1 && p.pad_low[d] >= 0 && p.pad_high[d] >= 0) return {0, size};
    const int64_t low = p.pad_low[d];
    const int64_t total = std::max<int64_t>(low + (size - 1) * base + 1 + p.pad_high[d], 0);
    const int64_t begin = low >= 0 ? 0 : std::min(size, (-low + base - 1) / base);
    const int64_t end = std::clamp<int64_t>((total - low + base - 1) / base, begin, size);
    first = low + begin * base;
    input_.shape[d + 2] = total;
    p.pad_low[d] = p.pad_high[d] = 0;
    return {begin, end};
  }

  void place_kernel(const plan::Convolution& step) {
    kernel_.shape = kernel_.view.shape;
    kernel_.strides = kernel_.view.strides;
    bool reversed = false;
    for (int d = 0; d < step.window().reversal_size(); ++d) {
      if (!step.window().reversal(d)) continue;
      reversed = true;
      int64_t& stride = kernel_.strides[static_cast<size_t>(d) + 2];
      kernel_.view_offset +=
          stride * (kernel_.shape[static_cast<size_t>(d) + 2] - 1) * kernel_.view.element_bytes;
      stride = -stride;
    }
    if (!reversed && is_usable(kernel_)) return;
    const Dims from = kernel_.strides;
    kernel_.strides = row_major(kernel_.shape);
    pack(kernel_, kernel_.shape, from, kernel_.strides, false);
  }

  void place_out() {
    out_.shape = out_.view.shape;
    out_.strides = out_.view.strides;
    if (!is_usable(out_)) pack_out();
  }
  void pack_out() {
    out_.strides = row_major(out_.shape);
    pack(out_, out_.shape, out_.view.strides, out_.strides, true);
  }

  void use_columns(ConvolutionProblem p) {
    if (!kernel_.packer && kernel_.strides != row_major(kernel_.shape)) {
      const Dims from = kernel_.strides;
      kernel_.strides = row_major(kernel_.shape);
      pack(kernel_, kernel_.shape, from, kernel_.strides, false);
      p.kernel_strides = kernel_.strides;
    }
    const Dims dense = row_major(out_.shape);
    if (!out_.packer && !std::equal(dense.begin() + 2, dense.end(), out_.strides.begin() + 2)) {
      pack_out();
      p.out_strides = out_.strides;
    }
    auto columns = std::make_unique<ImageToColumns>(p, lane_);
    columns_ = columns.get();
    columns_offset_ = workspace_;
    workspace_ += align_workspace(columns->columns_bytes());
    call_ = std::move(columns);
  }

  Lane lane_;
  Tensor input_, kernel_, out_;
  std::unique_ptr<ConvolutionCall> call_;
  ImageToColumns* columns_ = nullptr;  // call_, when it is one
  int64_t columns_offset_ = 0;
  bool reads_nothing_ = false;
  int64_t workspace_ = Packer::kScratch;
};

class ZeroOutput : public Kernel {
 public:
  explicit ZeroOutput(const plan::View& out) : out_(out), it_{out_.shape, {out_.strides}} {}
  void run(const RunContext& context) override {
    if (it_.count() == 0) return;
    Odometer odometer(it_, it_.rank());
    do {
      std::memset(out_.data(context) + odometer.offset(0) * out_.element_bytes, 0,
                  static_cast<size_t>(out_.element_bytes));
    } while (odometer.next());
  }

 private:
  BoundView out_;
  Iteration it_;
};

}  // namespace

KernelPtr make_convolution(const plan::Convolution& step, LoadContext& context) {
  if (plan::element_count(step.input().shape()) == 0 ||
      plan::element_count(step.kernel().shape()) == 0 ||
      plan::element_count(step.out().shape()) == 0)
    return std::make_unique<ZeroOutput>(step.out());
  auto kernel = std::make_unique<ConvolutionKernel>(step, context);
  if (kernel->reads_nothing()) return std::make_unique<ZeroOutput>(step.out());
  return kernel;
}

}  // namespace spmd::cpu
