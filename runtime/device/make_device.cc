#include "runtime/device/make_device.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "runtime/device/cpu/cpu_device.h"
#include "support/error.h"
#if SPMD_HAVE_CUDA
#include "runtime/device/cuda/cuda_device.h"
#endif

namespace spmd {

void require_device(const DevicePlace& place) {
  if (!place.fact.empty()) throw UserError("--device cuda", place.fact, place.remedy);
}

#if SPMD_HAVE_CUDA
namespace {

// This rank's number among the ranks on its host.
int place_on_host(comm::Communicator& communicator) {
  using Name = std::array<char, 64>;
  Name name{};
  ::gethostname(name.data(), name.size() - 1);
  std::vector<Name> names(static_cast<size_t>(communicator.size()));
  communicator.all_gather(communicator.world(), name.data(), names.data(), sizeof name,
                          "which ranks share a host");
  return static_cast<int>(std::count(names.begin(), names.begin() + communicator.rank(), name));
}

bool everyone(comm::Communicator& communicator, bool holds) {
  uint8_t value = holds ? 1 : 0;
  communicator.all_reduce(communicator.world(), &value, &value, 1, comm::Element::kU8,
                          comm::Reduction::kMin, "what GPUs ranks have");
  return value != 0;
}

// For tests on a machine with fewer GPUs than ranks. NCCL refuses ranks of one host that share a
// GPU; ranks of several hosts it connects by sockets.
bool shared_gpus_have_nccl(int rank) {
  if (std::getenv("SPMD_NCCL_SHARED_GPU") == nullptr) return false;
  ::setenv("NCCL_HOSTID", fmt::format("spmd-{}", rank).c_str(), 0);
  return true;
}

}  // namespace

DevicePlace find_device(DeviceChoice choice, comm::Communicator& communicator) {
  DevicePlace place;
  if (choice == DeviceChoice::kCpu) return place;
  const cuda::Driver* driver = cuda::Driver::find(&place.fact, &place.remedy);
  place.cuda = everyone(communicator, driver != nullptr);
  if (place.cuda) {
    const int number = place_on_host(communicator);
    place.ordinal = number % driver->device_count();
    place.shared = !everyone(communicator, number < driver->device_count()) &&
                   !shared_gpus_have_nccl(communicator.rank());
    place.why_no_attention = cuda::why_no_cudnn();
    place.attention = everyone(communicator, place.why_no_attention.empty());
    place.architecture = fmt::format("sm_{}", cuda::architecture_of(*driver, place.ordinal));
  } else if (choice == DeviceChoice::kAuto) {
    place.fact.clear();
  } else if (driver != nullptr) {
    place.fact = "other ranks have no GPU";
    place.remedy = "run on machines with GPUs, or pass --device cpu";
  }
  return place;
}

std::unique_ptr<Device> make_device(const DevicePlace& place, comm::Communicator& communicator,
                                    const DeviceOptions& options) {
  require_device(place);
  if (!place.cuda) return std::make_unique<cpu::CpuDevice>();
  return std::make_unique<cuda::CudaDevice>(*cuda::Driver::find(), place.ordinal, communicator,
                                            communicator.size() > 1 && !place.shared, options);
}
#else
DevicePlace find_device(DeviceChoice choice, comm::Communicator&) {
  if (choice != DeviceChoice::kCuda) return {};
  return {false, 0, "this spmd-run was built without CUDA",
          "build it on a machine with the CUDA Toolkit, or pass --device cpu"};
}

std::unique_ptr<Device> make_device(const DevicePlace& place, comm::Communicator&,
                                    const DeviceOptions&) {
  require_device(place);
  return std::make_unique<cpu::CpuDevice>();
}
#endif

}  // namespace spmd
