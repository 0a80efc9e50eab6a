// The device that a rank runs on, as the user asks for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "collectives/comm/communicator.h"
#include "runtime/device/cpu_share.h"
#include "runtime/device/device.h"

namespace spmd {

enum class DeviceChoice : uint8_t { kAuto, kCpu, kCuda };  // kAuto: a GPU when every rank has one

// What a rank will run on.
struct DevicePlace {
  CpuShare cpu;  // what of the host is the rank's
  bool cuda = false;
  int ordinal = 0;               // of the GPU. Ranks of one host share its GPUs, in turn
  std::string architecture;      // "sm_90" of a GPU
  bool shared = false;           // some ranks share a GPU, so that NCCL cannot connect them
  bool attention = false;        // every rank has cuDNN, for attention
  std::string why_no_attention;  // of a GPU without it
  // Why there is no such device; empty when there is one.
  std::string fact, remedy;
};

// Whether whole steps are recorded once and repeated. kAuto: where one rank runs alone, from when a
// run is long enough for it to pay, and where a step cannot be recorded nothing is said.
enum class StepRecording : uint8_t { kOff, kAuto, kOn };

struct DeviceOptions {
  std::string tuning_cache;  // folder for timed choices; empty: they are not kept
  StepRecording graphs = StepRecording::kOff;
  // A collective between GPUs that lasts longer is given up; 0: none is. `give_up` is called on a
  // thread of its own with the message, and does not return.
  std::chrono::milliseconds watchdog{0};
  std::function<void(const std::string& message)> give_up;
};

struct HostOptions {
  bool launched = false;           // a launcher started a process for each rank
  std::optional<int64_t> threads;  // of a rank; absent: its share of the host's cores
};

// All ranks call this together, and find devices of the same kind. Moves the calling thread to the
// rank's share of the cores.
DevicePlace find_device(DeviceChoice choice, comm::Communicator& communicator,
                        const HostOptions& host = {});

// Throws UserError when there is no such device.
void require_device(const DevicePlace& place);

// `communicator` outlives the device. Throws UserError when there is none, or when it is too old.
std::unique_ptr<Device> make_device(const DevicePlace& place, comm::Communicator& communicator,
                                    const DeviceOptions& options = {});

}  // namespace spmd
