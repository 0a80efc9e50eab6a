#include "runtime/device/cuda/contraction.h"
#include "runtime/device/cuda/cuda_device.h"

namespace spmd::cuda {
namespace {

class DotWithEpilogue : public Kernel {
 public:
  DotWithEpilogue(std::unique_ptr<ProductKernel> whole, std::unique_ptr<ProductKernel> product,
                  std::shared_ptr<Kernel> map)
      : whole_(std::move(whole)), product_(std::move(product)), map_(std::move(map)) {}

  void run(const RunContext& context) override {
    if (is_whole_faster()) return whole_->run(context);
    product_->run(context);
    map_->run(context);
  }

 private:
  // By rank 0's times, so that all ranks do the same. What was too small to be timed takes one
  // launch rather than two.
  bool is_whole_faster() const {
    if (!whole_) return false;
    const MatmulChoice& alone = product_->choice();
    return whole_->choice().best_us <= alone.best_us + alone.after_us;
  }

  std::unique_ptr<ProductKernel> whole_;  // null: the library has no such product
  std::unique_ptr<ProductKernel> product_;
  std::shared_ptr<Kernel> map_;
};

}  // namespace

KernelPtr make_dot_with_epilogue(const plan::Dot& dot, CudaDevice& device, LoadContext& context) {
  const plan::Step& step = dot.epilogue().map();
  std::shared_ptr<Kernel> map = device.make_map(step);
  // Without a kernel of ours the library's form is the only one here.
  if (!map) return make_product(dot, &dot.epilogue(), device, context);
  std::unique_ptr<ProductKernel> product =
      make_product(dot, nullptr, device, context,
                   [&device, &step, map] { return device.time_alone(*map, step); });
  if (!product) return nullptr;
  return std::make_unique<DotWithEpilogue>(make_product(dot, &dot.epilogue(), device, context),
                                           std::move(product), std::move(map));
}

}  // namespace spmd::cuda
