// The host's memory and the CPU's kernels.
#pragma once

#include <cstdlib>

#include "runtime/device/cpu/compiled.h"
#include "runtime/device/device.h"

namespace spmd::cpu {

class CpuDevice : public Device {
 public:
  // `threads` share the work of large steps.
  explicit CpuDevice(int threads);

  std::string description() const override { return "cpu"; }
  bool shares_host_memory() const override { return true; }
  int64_t free_memory() const override { return INT64_MAX; }
  void load(const plan::Plan& plan) override;

  std::byte* allocate(int64_t bytes) override;
  void copy_in(std::byte* to, const void* from, int64_t bytes) override;
  void copy_out(void* to, const std::byte* from, int64_t bytes) override;
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override;
  void synchronize() override {}

  KernelPtr make_kernel(const plan::Step& step, LoadContext& context) override;
  KernelPtr from_host(const plan::Step& step, KernelPtr kernel, int64_t workspace_bytes,
                      LoadContext& context) override;
  void settle(LoadContext&) override {}
  std::vector<std::string> notes() const override;

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> memory_;
  Workers workers_;
  std::shared_ptr<const CompiledModule> compiled_;  // null: the loops here do all steps
  std::string why_not_compiled_;
};

}  // namespace spmd::cpu
