#include "runtime/device/cpu/kernel.h"

namespace spmd::cpu {
namespace {

// The steps one by one: what is done where they have no compiled kernel.
class FusedKernel : public Kernel {
 public:
  FusedKernel(const plan::Fused& fused, LoadContext& context) {
    for (const plan::Step& step : fused.steps()) kernels_.push_back(make_kernel(step, context));
  }
  void run(const RunContext& context) override {
    for (const KernelPtr& kernel : kernels_) kernel->run(context);
  }

 private:
  std::vector<KernelPtr> kernels_;
};

}  // namespace

KernelPtr make_fused(const plan::Fused& step, LoadContext& context) {
  context.uses_local_buffers = true;
  return std::make_unique<FusedKernel>(step, context);
}

}  // namespace spmd::cpu
