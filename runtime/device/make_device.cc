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

namespace {

// This rank's number among the ranks on its host, and how many they are.
struct PlaceOnHost {
  int number = 0, ranks = 1;
};

PlaceOnHost place_on_host(comm::Communicator& communicator) {
  using Name = std::array<char, 64>;
  Name name{};
  ::gethostname(name.data(), name.size() - 1);
  std::vector<Name> names(static_cast<size_t>(communicator.size()));
  communicator.all_gather(communicator.world(), name.data(), names.data(), sizeof name,
                          "which ranks share a host");
  const auto count = [&](auto end) {
    return static_cast<int>(std::count(names.begin(), end, name));
  };
  return {count(names.begin() + communicator.rank()), count(names.end())};
}

#if SPMD_HAVE_CUDA
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

void find_gpu(DeviceChoice choice, comm::Communicator& communicator, int number,
              DevicePlace& place) {
  const cuda::Driver* driver = cuda::Driver::find(&place.fact, &place.remedy);
  place.cuda = everyone(communicator, driver != nullptr);
  if (place.cuda) {
    place.ordinal = number % driver->device_count();
    place.shared = !everyone(communicator, number < driver->device_count()) &&
                   !shared_gpus_have_nccl(communicator.rank());
    place.why_no_attention = cuda::why_no_cudnn();
    place.attention = everyone(communicator, place.why_no_attention.empty());
    stay_near(cuda::cpus_near(*driver, place.ordinal), place.cpu);
    place.architecture = fmt::format("sm_{}", cuda::architecture_of(*driver, place.ordinal));
  } else if (choice == DeviceChoice::kAuto) {
    place.fact.clear();
  } else if (driver != nullptr) {
    place.fact = "other ranks have no GPU";
    place.remedy = "run on machines with GPUs, or pass --device cpu";
  }
}
#else
void find_gpu(DeviceChoice choice, comm::Communicator&, int, DevicePlace& place) {
  if (choice != DeviceChoice::kCuda) return;
  place.fact = "this spmd-run was built without CUDA";
  place.remedy = "build it on a machine with the CUDA Toolkit, or pass --device cpu";
}
#endif

}  // namespace

DevicePlace find_device(DeviceChoice choice, comm::Communicator& communicator,
                        const HostOptions& host) {
  const PlaceOnHost here = place_on_host(communicator);
  DevicePlace place;
  place.cpu = take_cpu_share(here.ranks, host.launched, host.threads);
  if (choice != DeviceChoice::kCpu) find_gpu(choice, communicator, here.number, place);
  return place;
}

std::unique_ptr<Device> make_device(const DevicePlace& place,
                                    [[maybe_unused]] comm::Communicator& communicator,
                                    [[maybe_unused]] const DeviceOptions& options) {
  require_device(place);
#if SPMD_HAVE_CUDA
  if (place.cuda)
    return std::make_unique<cuda::CudaDevice>(*cuda::Driver::find(), place.ordinal, communicator,
                                              communicator.size() > 1 && !place.shared, options);
#endif
  return std::make_unique<cpu::CpuDevice>(place.cpu.threads);
}

}  // namespace spmd
