#include "runtime/device/cuda/convolution.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/library_convolution.h"
#include "runtime/device/cuda/own_convolution.h"
#include "runtime/device/cuda/random_values.h"
#include "runtime/device/cuda/stopwatch.h"
#include "support/error.h"

namespace spmd::cuda {
namespace {

// The name of our kernel among engines of cuDNN.
const std::string kOwnWay = "own";

// Memory for a view alone.
class ViewMemory {
 public:
  ViewMemory(const Gpu& gpu, const BoundView& view) {
    int64_t low = 0, high = 0;  // elements reached, from the view's first one
    for (size_t d = 0; d < view.shape.size(); ++d) {
      const int64_t reach = (view.shape[d] - 1) * view.strides[d];
      (reach < 0 ? low : high) += reach;
    }
    const int64_t bytes = (high - low + 1) * view.element_bytes;
    memory_ = GpuMemory(gpu, bytes);
    first_ = memory_.data() - low * view.element_bytes;
    fill_randomly(gpu, memory_, bytes,
                  view.dtype == plan::F32    ? CUDA_R_32F
                  : view.dtype == plan::BF16 ? CUDA_R_16BF
                                             : CUDA_R_16F);
  }
  std::byte* first() const { return first_; }

 private:
  GpuMemory memory_;
  std::byte* first_ = nullptr;
};

class TunedConvolution : public ConvolutionStep {
 public:
  TunedConvolution(const plan::Convolution& step, CudaDevice& device, std::string op,
                   std::unique_ptr<OwnConvolution> own)
      : gpu_(device.gpu()),
        op_(std::move(op)),
        input_(step.input()),
        kernel_(step.kernel()),
        out_(step.out()),
        own_(std::move(own)),
        library_(LibraryConvolution::make(step, device, why_not_)) {}

  void run(const RunContext& context) override {
    run({input_.data(context), kernel_.data(context), out_.data(context)}, context.workspace);
  }

  std::string choose(TuningCache& cache, std::map<std::string, std::string>& known,
                     int& timed) override {
    if (!library_) return kOwnWay;
    const std::string what = library_->text();
    std::string& way = known[what];
    if (way.empty()) way = cache.find_choice(what).value_or("");
    if (!way.empty() && way != kOwnWay && !engine_of(way)) {
      cache.refuse("names an engine that cuDNN does not have");
      way.clear();
    }
    if (!way.empty()) return way;
    const std::optional<std::string> found = time();
    if (!found) return kOwnWay;
    ++timed;
    cache.put_choice(what, *found);
    return way = *found;
  }

  void use(const std::string& way) override {
    engine_ = way == kOwnWay ? std::nullopt : engine_of(way);
  }
  bool is_by_library() const override { return engine_.has_value(); }
  int64_t workspace_bytes() const override {
    return engine_ ? library_->workspace_bytes(*engine_) : 0;
  }
  const std::string& why_not_library() const override { return why_not_; }

 private:
  void run(const ConvolutionViews& at, std::byte* workspace) {
    if (!engine_) return own_->run(at.input, at.kernel, at.out);
    if (!library_->run(*engine_, at, workspace)) [[unlikely]]
      throw UserError(op_, "cuDNN failed to convolve",
                      "see whether nvidia-smi and dmesg report a fault of the GPU");
  }

  // The engine of this name, ready to run.
  std::optional<size_t> engine_of(const std::string& name) {
    if (!library_) return std::nullopt;
    const std::vector<std::string>& engines = library_->cudnn().engines();
    for (size_t i = 0; i < engines.size(); ++i)
      if (engines[i] == name && library_->cudnn().build(i)) return i;
    return std::nullopt;
  }

  // The first engines that work; building one may take long.
  std::vector<size_t> candidates() {
    constexpr size_t kMostCandidates = 6;
    const std::vector<std::string>& engines = library_->cudnn().engines();
    std::vector<size_t> found;
    for (size_t i = 0; i < engines.size() && found.size() < kMostCandidates; ++i) {
      const bool is_known = std::find(engines.begin(), engines.begin() + static_cast<int64_t>(i),
                                      engines[i]) != engines.begin() + static_cast<int64_t>(i);
      if (!is_known && library_->cudnn().build(i)) found.push_back(i);
    }
    return found;
  }

  // nullopt when there is no memory to time on.
  std::optional<std::string> time() {
    const std::vector<size_t> engines = candidates();
    if (engines.empty()) return kOwnWay;
    int64_t workspace_bytes = 0;
    for (size_t engine : engines)
      workspace_bytes = std::max(workspace_bytes, library_->workspace_bytes(engine));
    try {
      const ViewMemory input(gpu_, input_), kernel(gpu_, kernel_), out(gpu_, out_);
      const GpuMemory workspace(gpu_, workspace_bytes);
      return fastest(engines, {input.first(), kernel.first(), out.first()}, workspace.data());
    } catch (const OutOfMemory&) {
      return std::nullopt;
    }
  }

  std::string fastest(const std::vector<size_t>& engines, const ConvolutionViews& at,
                      std::byte* workspace) {
    const Stopwatch stopwatch(gpu_);
    std::string best = kOwnWay;
    double best_us = std::numeric_limits<double>::infinity();
    const auto consider = [&](const std::string& way, const std::function<bool()>& work) {
      const std::optional<double> us = stopwatch.each(work, 4 * best_us);
      if (!us || *us >= best_us) return;
      best = way;
      best_us = *us;
    };
    for (size_t engine : engines)
      consider(library_->cudnn().engines()[engine],
               [&] { return library_->run(engine, at, workspace); });
    consider(kOwnWay, [&] {
      own_->run(at.input, at.kernel, at.out);
      return true;
    });
    return best;
  }

  const Gpu& gpu_;
  std::string op_;
  BoundView input_, kernel_, out_;
  std::unique_ptr<OwnConvolution> own_;
  std::string why_not_;
  std::unique_ptr<LibraryConvolution> library_;  // null: cuDNN has nothing for it
  std::optional<size_t> engine_;                 // nullopt: our kernel
};

}  // namespace

KernelPtr make_convolution(const plan::Convolution& step, CudaDevice& device,
                           LoadContext& context) {
  std::unique_ptr<OwnConvolution> own = OwnConvolution::make(step, device);
  if (!own) return nullptr;
  auto kernel = std::make_unique<TunedConvolution>(step, device, context.op, std::move(own));
  device.add_convolution(*kernel);
  return kernel;
}

}  // namespace spmd::cuda
