#include "runtime/device/cpu/compiled.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/plan/kernel_views.h"
#include "support/cpu_features.h"
#include "support/error.h"

namespace spmd::cpu {
namespace {

class CompiledKernel : public Kernel {
 public:
  CompiledKernel(void (*function)(void* const*), const std::vector<const plan::View*>& views)
      : function_(function), args_(views.size()) {
    for (const plan::View* view : views)
      places_.push_back({view->buffer(), view->offset() * plan::byte_size(view->dtype())});
  }

  void run(const RunContext& context) override {
    for (size_t i = 0; i < places_.size(); ++i)
      args_[i] = context.buffers[places_[i].buffer] + places_[i].offset;
    function_(args_.data());
  }

 private:
  struct Place {
    int32_t buffer;
    int64_t offset;  // bytes
  };
  void (*function_)(void* const*);
  std::vector<Place> places_;
  std::vector<void*> args_;
};

// A file without a name that holds the code; -1 when there is none.
int memory_file(const std::string& code) {
  const int file = memfd_create("spmd-kernels", MFD_CLOEXEC);
  size_t done = 0;
  while (file >= 0 && done < code.size()) {
    const ssize_t n = write(file, code.data() + done, code.size() - done);
    if (n <= 0) {
      close(file);
      return -1;
    }
    done += static_cast<size_t>(n);
  }
  return file;
}

}  // namespace

std::shared_ptr<const CompiledModule> CompiledModule::load(const plan::Plan& plan,
                                                           std::string* note) {
  const plan::KernelModule& kernels = plan.kernels();
  if (kernels.code().empty()) return nullptr;
  if (kernels.target() != plan::KernelModule::HOST) {
    *note = fmt::format("its kernels were compiled for {}", kernels.architecture());
    return nullptr;
  }
  const std::vector<std::string> missing = missing_cpu_features(kernels.architecture());
  if (!missing.empty()) {
    *note = fmt::format("its kernels need {}, which this CPU lacks", fmt::join(missing, ", "));
    return nullptr;
  }
  std::shared_ptr<CompiledModule> module(new CompiledModule(plan));
  return module->open(note) ? module : nullptr;
}

CompiledModule::~CompiledModule() {
  if (handle_) dlclose(handle_);
  if (file_ >= 0) close(file_);
}

bool CompiledModule::open(std::string* note) {
  file_ = memory_file(plan_.kernels().code());
  if (file_ < 0) {
    *note = "there is no memory to load its kernels into";
    return false;
  }
  const std::string path = fmt::format("/proc/self/fd/{}", file_);
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) {
    *note = fmt::format("its kernels cannot be loaded: {}", dlerror());
    return false;
  }
  for (const plan::Kernel& kernel : plan_.kernels().kernels()) {
    void* symbol = dlsym(handle_, kernel.name().c_str());
    if (!symbol) {
      *note = fmt::format("its code lacks the kernel {}", kernel.name());
      return false;
    }
    functions_.push_back(reinterpret_cast<Function>(symbol));
  }
  return true;
}

KernelPtr CompiledModule::make(const plan::Step& step) const {
  return std::make_unique<CompiledKernel>(functions_[static_cast<size_t>(step.kernel() - 1)],
                                          plan::kernel_views(plan_, step));
}

}  // namespace spmd::cpu
