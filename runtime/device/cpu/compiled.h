// Compiled kernels: the shared object that a Plan carries, loaded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/cpu/kernel.h"
#include "runtime/device/cpu/workers.h"

namespace spmd::cpu {

class CompiledModule {
 public:
  // Loads the Plan's kernels. Null when it has none for the CPU, or when this machine cannot run
  // them; `note` then gets the reason, if there is one.
  static std::shared_ptr<const CompiledModule> load(const plan::Plan& plan, std::string* note);

  ~CompiledModule();
  CompiledModule(const CompiledModule&) = delete;
  CompiledModule& operator=(const CompiledModule&) = delete;

  // The kernel of a step whose `kernel` is not 0. `workers`, who outlive it, share its units.
  KernelPtr make(const plan::Step& step, Workers& workers) const;

 private:
  using Function = void (*)(void* const* args, int64_t begin, int64_t end);

  explicit CompiledModule(const plan::Plan& plan) : plan_(plan) {}
  bool open(std::string* note);

  const plan::Plan& plan_;
  int file_ = -1;  // open as long as the object is loaded: its number is the object's name
  void* handle_ = nullptr;
  std::vector<Function> functions_;  // by number in Plan.kernels
};

}  // namespace spmd::cpu
