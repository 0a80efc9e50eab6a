// One GPU, driven by one rank.
//
// Whatever a step needs is queued on one stream, in the Plan's order; the host waits where it needs
// a value (copy_out), where the CPU does a step, and in synchronize().
#pragma once

#include <memory>

#include "collectives/comm/communicator.h"
#include "runtime/device/cuda/blas.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/staging.h"
#include "runtime/device/device.h"

namespace spmd::cuda {

class CudaDevice : public Device {
 public:
  // `communicator`, which outlives the device: choices that ranks have to agree on are rank 0's.
  // Throws UserError when the GPU cannot be used.
  CudaDevice(const Driver& driver, int ordinal, comm::Communicator& communicator);
  ~CudaDevice() override;

  std::string description() const override;
  bool shares_host_memory() const override { return false; }
  int64_t free_memory() const override { return gpu_.free_memory(); }
  void load(const plan::Plan& plan) override;

  std::byte* allocate(int64_t bytes) override;
  void copy_in(std::byte* to, const void* from, int64_t bytes) override;
  void copy_out(void* to, const std::byte* from, int64_t bytes) override;
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override;
  void synchronize() override { gpu_.synchronize(); }

  KernelPtr make_kernel(const plan::Step& step, LoadContext& context) override;
  KernelPtr from_host(const plan::Step& step, KernelPtr kernel, int64_t workspace_bytes,
                      LoadContext& context) override;
  void settle(LoadContext& context) override;
  std::vector<std::string> notes() const override;

  // For kernels while they are made.
  const Gpu& gpu() const { return gpu_; }
  const plan::Plan& plan() const { return *plan_; }
  const Blas& blas();
  // A product whose algorithm settle() chooses: timed on rank 0, the same on all ranks. It lives as
  // long as its kernel.
  void add_product(Matmul& product) { products_.push_back(&product); }

 private:
  KernelPtr make_gpu_kernel(const plan::Step& step, LoadContext& context);

  Gpu gpu_;
  comm::Communicator& communicator_;
  const plan::Plan* plan_ = nullptr;
  std::unique_ptr<Blas> blas_;
  std::unique_ptr<Staging> staging_;
  std::vector<GpuMemory> memory_;
  std::vector<Matmul*> products_;
  std::vector<std::string> host_steps_;  // "sort (model.py:12)", of steps that the CPU does
  int64_t gpu_steps_ = 0;
};

// By op family; null when the GPU has no kernel for the step.
KernelPtr make_dot(const plan::Dot& dot, CudaDevice& device, LoadContext& context);

}  // namespace spmd::cuda
