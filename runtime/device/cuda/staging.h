// Steps that the GPU has no kernel for are done by the CPU's, on copies in host memory.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/device/cuda/gpu.h"
#include "runtime/device/kernel.h"

namespace spmd::cuda {

// Host memory that mirrors a Plan's buffers. Pages that nothing is copied to cost nothing.
class Staging {
 public:
  explicit Staging(const plan::Plan& plan);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void need_workspace(int64_t bytes);
  // Whether a buffer's values exist on the host only, inside of one step.
  bool is_local(int32_t buffer) const {
    return plan_.buffers(buffer).kind() == plan::Buffer::LOCAL;
  }
  // What kernels of the CPU run on. Call after the last need_workspace().
  RunContext context();

 private:
  struct Region {
    void* data = nullptr;
    size_t bytes = 0;
  };
  std::byte* reserve(int64_t bytes);

  const plan::Plan& plan_;
  std::vector<Region> regions_;
  std::vector<std::byte*> buffers_;
  std::byte* workspace_ = nullptr;
  int64_t workspace_bytes_ = 0, reserved_workspace_ = 0;
};

// Copies what `step` reads to the host, runs `kernel` there, and copies what it wrote back.
// `gpu` and `staging` outlive the kernel.
KernelPtr make_host_step(const Gpu& gpu, Staging& staging, const plan::Step& step,
                         KernelPtr kernel);

}  // namespace spmd::cuda
