#include "runtime/device/cuda/gpu.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "runtime/device/device.h"
#include "support/cpu_affinity.h"
#include "support/strings.h"

namespace spmd::cuda {
namespace {

constexpr int kOldestArchitecture = 80;

int attribute(const Driver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(driver, driver.DeviceGetAttribute(&value, which, device), "asking the GPU what it is");
  return value;
}

}  // namespace

int architecture_of(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  cuda::check(driver, driver.DeviceGet(&device, ordinal), "looking for the GPU");
  return 10 * attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

std::vector<int> cpus_near(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  cuda::check(driver, driver.DeviceGet(&device, ordinal), "looking for the GPU");
  std::ifstream file(fmt::format("/sys/bus/pci/devices/{:04x}:{:02x}:{:02x}.0/local_cpulist",
                                 attribute(driver, device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
                                 attribute(driver, device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
                                 attribute(driver, device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)));
  std::string list;
  std::getline(file, list);
  return parse_cpu_list(list);
}

Gpu::Gpu(const Driver& driver, int ordinal) : driver_(driver) {
  check(driver_.DeviceGet(&device_, ordinal), "looking for the GPU");
  char name[256] = "";
  check(driver_.DeviceGetName(name, sizeof name, device_), "asking for the GPU's name");
  name_ = name;
  architecture_ = architecture_of(driver_, ordinal);
  multiprocessors_ = attribute(driver_, device_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  if (architecture_ < kOldestArchitecture)
    throw UserError(name_,
                    fmt::format("is of architecture sm_{}, but programs need sm_{} or newer",
                                architecture_, kOldestArchitecture),
                    "use a newer GPU, or pass --device cpu");
  // Never released: a context takes long to make, and libraries hold on to it.
  CUcontext context = nullptr;
  check(driver_.DevicePrimaryCtxRetain(&context, device_), "starting the GPU");
  check(driver_.CtxSetCurrent(context), "starting the GPU");
  check(driver_.StreamCreate(&main_, CU_STREAM_NON_BLOCKING), "making a stream");
  current_ = main_;
}

Gpu::~Gpu() {
  if (main_ != nullptr) driver_.StreamDestroy(main_);
}

void Gpu::synchronize() const {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kSpin{2};
  const Clock::time_point begin = Clock::now();
  while (true) {
    const CUresult result = driver_.StreamQuery(current_);
    if (result != CUDA_ERROR_NOT_READY) return check(result, "the work on the GPU");
    const Clock::duration waited = Clock::now() - begin;
    if (waited > kLongestWait)
      throw UserError(name_,
                      fmt::format("has not finished its work after {} s", kLongestWait.count()),
                      "SPMD_CUDA_TRACE=1 names the step that it does not end");
    if (waited > kSpin) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Gpu::launch(CUfunction function, int64_t points, void** arguments) const {
  constexpr int64_t kThreads = 256, kBlocksEach = 32;
  const int64_t blocks =
      std::clamp<int64_t>((points + kThreads - 1) / kThreads, 1, multiprocessors_ * kBlocksEach);
  check(driver_.LaunchKernel(function, static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1, 0,
                             current_, arguments, nullptr),
        "starting a kernel");
}

int64_t Gpu::free_memory() const {
  size_t free = 0, total = 0;
  check(driver_.MemGetInfo(&free, &total), "asking for the GPU's free memory");
  return static_cast<int64_t>(free);
}

int64_t Gpu::total_memory() const {
  size_t free = 0, total = 0;
  check(driver_.MemGetInfo(&free, &total), "asking for the GPU's memory");
  return static_cast<int64_t>(total);
}

GpuMemory::GpuMemory(const Gpu& gpu, int64_t bytes) : gpu_(&gpu) {
  const CUresult result =
      gpu.driver().MemAlloc(&address_, static_cast<size_t>(std::max<int64_t>(bytes, 256)));
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw OutOfMemory(gpu.name(),
                      fmt::format("cannot allocate {}: {} of its memory are free",
                                  human_bytes(static_cast<double>(bytes)),
                                  human_bytes(static_cast<double>(gpu.free_memory()))),
                      "use more ranks, shard larger tensors, or end other programs on the GPU");
  gpu.check(result, "allocating memory");
}

GpuMemory::~GpuMemory() {
  if (address_ != 0) gpu_->driver().MemFree(address_);
}

}  // namespace spmd::cuda
