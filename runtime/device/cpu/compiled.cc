#include "runtime/device/cpu/compiled.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/plan/kernel_views.h"
#include "support/cpu_features.h"
#include "support/error.h"

namespace spmd::cpu {
namespace {

using Function = void (*)(void* const* args, int64_t begin, int64_t end);

class CompiledKernel : public Kernel {
 public:
  CompiledKernel(Function function, const plan::Kernel& kernel,
                 const std::vector<const plan::View*>& views)
      : function_(function), units_(kernel.units()), args_(views.size()) {
    for (const plan::View* view : views)
      places_.push_back({view->buffer(), view->offset() * plan::byte_size(view->dtype())});
  }

  void run(const RunContext& context) override { function_(find_arguments(context), 0, units_); }

 protected:
  void* const* find_arguments(const RunContext& context) {
    for (size_t i = 0; i < places_.size(); ++i)
      args_[i] = context.buffers[places_[i].buffer] + places_[i].offset;
    return args_.data();
  }

  Function function_;
  int64_t units_;

 private:
  struct Place {
    int32_t buffer;
    int64_t offset;  // bytes
  };
  std::vector<Place> places_;
  std::vector<void*> args_;
};

// Its units, in ranges about equally long.
class SharedKernel final : public CompiledKernel {
 public:
  SharedKernel(Function function, const plan::Kernel& kernel,
               const std::vector<const plan::View*>& views, int parts, Workers& workers)
      : CompiledKernel(function, kernel, views), parts_(parts), workers_(workers) {
    for (int part = 0; part <= parts_; ++part) bounds_.push_back(units_ * part / parts_);
  }

  void run(const RunContext& context) override {
    void* const* args = find_arguments(context);
    workers_.run(parts_, [&](int part) {
      const auto at = static_cast<size_t>(part);
      function_(args, bounds_[at], bounds_[at + 1]);
    });
  }

 private:
  int parts_;
  Workers& workers_;
  std::vector<int64_t> bounds_;  // of the parts, in units
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

KernelPtr CompiledModule::make(const plan::Step& step, Workers& workers) const {
  const auto number = static_cast<size_t>(step.kernel() - 1);
  const plan::Kernel& kernel = plan_.kernels().kernels(step.kernel() - 1);
  const std::vector<const plan::View*> views = plan::kernel_views(plan_, step);
  const auto parts = static_cast<int>(std::min<int64_t>(kernel.parts(), workers.threads()));
  if (parts == 1) return std::make_unique<CompiledKernel>(functions_[number], kernel, views);
  return std::make_unique<SharedKernel>(functions_[number], kernel, views, parts, workers);
}

}  // namespace spmd::cpu
