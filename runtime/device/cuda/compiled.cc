#include "runtime/device/cuda/compiled.h"

#include "runtime/plan/kernel_views.h"
#include "support/error.h"

namespace spmd::cuda {
namespace {

class CompiledKernel : public Kernel {
 public:
  CompiledKernel(const Gpu& gpu, CUfunction function, const plan::Kernel& kernel,
                 const std::vector<const plan::View*>& views)
      : gpu_(gpu),
        function_(function),
        blocks_(static_cast<unsigned>(kernel.blocks())),
        threads_(static_cast<unsigned>(kernel.threads())),
        shared_bytes_(static_cast<unsigned>(kernel.shared_bytes())),
        addresses_(views.size()) {
    for (const plan::View* view : views)
      places_.push_back({view->buffer(), view->offset() * plan::byte_size(view->dtype())});
  }

  void run(const RunContext& context) override {
    for (size_t i = 0; i < places_.size(); ++i)
      addresses_[i] = context.buffers[places_[i].buffer] + places_[i].offset;
    // The one argument is a struct of all addresses.
    void* arguments[] = {addresses_.data()};
    gpu_.check(gpu_.driver().LaunchKernel(function_, blocks_, 1, 1, threads_, 1, 1, shared_bytes_,
                                          gpu_.stream(), arguments, nullptr),
               "starting a kernel");
  }

 private:
  struct Place {
    int32_t buffer;
    int64_t offset;  // bytes
  };
  const Gpu& gpu_;
  CUfunction function_;
  unsigned blocks_, threads_, shared_bytes_;
  std::vector<Place> places_;
  std::vector<std::byte*> addresses_;
};

}  // namespace

std::unique_ptr<CompiledModule> CompiledModule::load(const Gpu& gpu, const plan::Plan& plan,
                                                     std::string* note) {
  const plan::KernelModule& kernels = plan.kernels();
  if (kernels.code().empty()) return nullptr;
  const std::string own = fmt::format("sm_{}", gpu.architecture());
  if (kernels.target() != plan::KernelModule::CUDA || kernels.architecture() != own) {
    *note =
        fmt::format("they were compiled for {}, and this GPU is {}", kernels.architecture(), own);
    return nullptr;
  }
  std::unique_ptr<CompiledModule> module(new CompiledModule(gpu, plan));
  const CUresult loaded = gpu.driver().ModuleLoadData(&module->module_, kernels.code().data());
  if (loaded == CUDA_ERROR_OUT_OF_MEMORY) gpu.check(loaded, "loading the Plan's kernels");
  if (loaded != CUDA_SUCCESS) {
    *note = fmt::format("the driver does not load them (error {})", static_cast<int>(loaded));
    return nullptr;
  }
  for (const plan::Kernel& kernel : kernels.kernels()) {
    CUfunction function = nullptr;
    if (gpu.driver().ModuleGetFunction(&function, module->module_, kernel.name().c_str()) !=
        CUDA_SUCCESS) {
      *note = fmt::format("their code lacks {}", kernel.name());
      return nullptr;
    }
    gpu.check(gpu.driver().FuncLoad(function), "loading a kernel");
    // More than 48 KiB has to be asked for.
    if (gpu.driver().FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      kernel.shared_bytes()) != CUDA_SUCCESS) {
      *note =
          fmt::format("{} needs {} bytes of shared memory", kernel.name(), kernel.shared_bytes());
      return nullptr;
    }
    module->functions_.push_back(function);
  }
  return module;
}

CompiledModule::~CompiledModule() {
  if (module_ != nullptr) gpu_.driver().ModuleUnload(module_);
}

KernelPtr CompiledModule::make(const plan::Step& step) const {
  const int number = step.kernel() - 1;
  return std::make_unique<CompiledKernel>(gpu_, functions_[static_cast<size_t>(number)],
                                          plan_.kernels().kernels(number),
                                          plan::kernel_views(plan_, step));
}

}  // namespace spmd::cuda
