// Compiled kernels: the cubin that a Plan carries, loaded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/cuda/gpu.h"
#include "runtime/device/kernel.h"

namespace spmd::cuda {

class CompiledModule {
 public:
  // Loads the Plan's kernels, all of them before the first step. Null when it has none for this
  // GPU; `note` then gets the reason, if there is one. `gpu` and `plan` outlive the module.
  static std::unique_ptr<CompiledModule> load(const Gpu& gpu, const plan::Plan& plan,
                                              std::string* note);

  ~CompiledModule();
  CompiledModule(const CompiledModule&) = delete;
  CompiledModule& operator=(const CompiledModule&) = delete;

  // The kernel of a step whose `kernel` is not 0.
  KernelPtr make(const plan::Step& step) const;

 private:
  CompiledModule(const Gpu& gpu, const plan::Plan& plan) : gpu_(gpu), plan_(plan) {}

  const Gpu& gpu_;
  const plan::Plan& plan_;
  CUmodule module_ = nullptr;
  std::vector<CUfunction> functions_;  // by number in Plan.kernels
};

}  // namespace spmd::cuda
