#include "runtime/device/cpu/kernel.h"

namespace spmd::cpu {
namespace {

// The steps one by one: what is done where they have no compiled kernel.
class StepsInTurn : public Kernel {
 public:
  StepsInTurn(const google::protobuf::RepeatedPtrField<plan::Step>& steps, LoadContext& context) {
    for (const plan::Step& step : steps) kernels_.push_back(make_kernel(step, context));
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
  return std::make_unique<StepsInTurn>(step.steps(), context);
}

KernelPtr make_grouped(const plan::Grouped& step, LoadContext& context) {
  return std::make_unique<StepsInTurn>(step.steps(), context);
}

}  // namespace spmd::cpu
