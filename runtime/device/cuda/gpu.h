// One GPU as a rank sees it: the driver, the device and the stream that work is queued on.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/cuda/driver.h"

namespace spmd::cuda {

// 90 of sm_90: what code has to be compiled for.
int architecture_of(const Driver& driver, int ordinal);
// Cores of the host that are near the GPU, as the kernel says; empty where it does not.
std::vector<int> cpus_near(const Driver& driver, int ordinal);

class Gpu {
 public:
  // Throws UserError when GPU `ordinal` cannot be used, or is older than sm_80. What the driver and
  // NVIDIA's libraries keep for the process stays until it ends.
  Gpu(const Driver& driver, int ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver& driver() const { return driver_; }
  // Where work is queued: the main stream, or within a StreamScope another.
  CUstream stream() const { return current_; }
  // "NVIDIA H200"
  const std::string& name() const { return name_; }
  // 90 of sm_90
  int architecture() const { return architecture_; }
  int multiprocessors() const { return multiprocessors_; }

  void check(CUresult result, const char* what) const { cuda::check(driver_, result, what); }
  // Waits for what is queued on stream(). Throws UserError when the GPU failed, or has not finished
  // after kLongestWait.
  void synchronize() const;
  // Queues a kernel with one thread for each of `points`, or less, and these arguments.
  template <typename... Arguments>
  void launch(CUfunction function, int64_t points, const Arguments&... arguments) const {
    void* list[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    launch(function, points, static_cast<void**>(list));
  }
  void launch(CUfunction function, int64_t points, void** arguments) const;
  // Bytes free and in all.
  int64_t free_memory() const;
  int64_t total_memory() const;

 private:
  static constexpr std::chrono::seconds kLongestWait{300};

  const Driver& driver_;
  CUdevice device_ = 0;
  CUstream main_ = nullptr, current_ = nullptr;
  friend class StreamScope;
  std::string name_;
  int architecture_ = 0, multiprocessors_ = 0;
};

// While it lives, work is queued on another stream.
class StreamScope {
 public:
  StreamScope(Gpu& gpu, CUstream stream)
      : gpu_(gpu), before_(std::exchange(gpu.current_, stream)) {}
  ~StreamScope() { gpu_.current_ = before_; }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Gpu& gpu_;
  CUstream before_;
};

// Memory of the GPU that is given back.
class GpuMemory {
 public:
  GpuMemory() = default;
  // Not initialised. Throws OutOfMemory.
  GpuMemory(const Gpu& gpu, int64_t bytes);
  ~GpuMemory();
  GpuMemory(GpuMemory&& other) noexcept { swap(other); }
  GpuMemory& operator=(GpuMemory&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }
  CUdeviceptr address() const { return address_; }

 private:
  void swap(GpuMemory& other) {
    std::swap(gpu_, other.gpu_);
    std::swap(address_, other.address_);
  }

  const Gpu* gpu_ = nullptr;
  CUdeviceptr address_ = 0;
};

// An address on the GPU as the driver has it.
inline CUdeviceptr address_of(const std::byte* data) { return reinterpret_cast<CUdeviceptr>(data); }

}  // namespace spmd::cuda
