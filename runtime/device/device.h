// Device: where a Plan's buffers live and its steps run. One per rank, used on that rank's thread.
//
// A device may work behind the caller's back: what it is told to do it does in order, and
// copy_out() and synchronize() wait for all of it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/collective_record.h"
#include "runtime/device/kernel.h"
#include "runtime/random_draw.h"
#include "runtime/transport.h"
#include "support/error.h"

namespace spmd {

// Memory for a Plan's buffers that the machine does not have.
class OutOfMemory : public UserError {
 public:
  using UserError::UserError;
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  // "cpu", "NVIDIA H200 (sm_90)": for people.
  virtual std::string description() const = 0;
  // Whether its memory is the host's, so that addresses can be used as they are.
  virtual bool shares_host_memory() const = 0;
  // Bytes that can still be allocated; INT64_MAX when it does not know.
  virtual int64_t free_memory() const = 0;

  // Called once, before anything below: gets ready for the steps of `plan`, which outlives the
  // device.
  virtual void load(const plan::Plan& plan) = 0;

  // Zeroed and aligned to 256 bytes; it lives as long as the device. Throws OutOfMemory.
  virtual std::byte* allocate(int64_t bytes) = 0;
  // `from` may be changed as soon as copy_in() returns.
  virtual void copy_in(std::byte* to, const void* from, int64_t bytes) = 0;
  virtual void copy_out(void* to, const std::byte* from, int64_t bytes) = 0;
  // Within the device; the two do not overlap.
  virtual void copy(std::byte* to, const std::byte* from, int64_t bytes) = 0;
  virtual void synchronize() = 0;

  // Fills an argument's local part at `to` with a draw and its padding with zeros, as draw_block()
  // would have it. False, and nothing is done, when the device leaves it to the host.
  virtual bool draw(const RandomDraw&, const plan::Placement&, const LocalBlock&,
                    std::byte* /*to*/) {
    return false;
  }

  // The kernel of any step but collectives and control flow. Throws UserError when the device
  // cannot do what the step asks for.
  virtual KernelPtr make_kernel(const plan::Step& step, LoadContext& context) = 0;
  // Makes a kernel that does `step` in host memory, with a workspace of `workspace_bytes`, usable
  // on this device's buffers.
  virtual KernelPtr from_host(const plan::Step& step, KernelPtr kernel, int64_t workspace_bytes,
                              LoadContext& context) = 0;

  // Whether collectives that need this go from device to device; the same on all ranks.
  virtual bool connects(const TransportNeeds&) const { return false; }
  // Of what connects() says so. All members of the group ask for their transports in one order.
  virtual std::unique_ptr<Transport> connect(comm::Group&, const TransportNeeds&,
                                             const std::string& /*op*/) {
    return nullptr;
  }

  // Whether collectives may run beside other kernels. Without, one memory is workspace and
  // messages.
  virtual bool overlaps_collectives() const { return false; }
  // Of a collective, or one of a program's outermost steps, a kernel that does it on the stream
  // that the Plan names and after the events that it waits for. With a `record`, which outlives the
  // kernel, `kernel` is a collective by connect()'s transports, whose times the device measures.
  virtual KernelPtr in_order(const plan::Step&, KernelPtr kernel, CollectiveRecord*) {
    return kernel;
  }
  // Adds to the records what the collectives took that were queued since the last call, all of
  // which are done.
  virtual void read_times() {}

  // Opens what connect() gave, before settle(); all ranks call it together.
  virtual void open_connections() {}

  // Called once, after the last kernel is made and before the first one runs; all ranks call it
  // together, and settle what they have to agree on. Raises `context`'s workspace.
  virtual void settle(LoadContext& context) = 0;

  // Does `work`, which queues a whole step on buffers at these addresses. A device may repeat what
  // it queued for the same addresses before instead.
  virtual void run_step(std::span<std::byte* const> /*buffers*/,
                        const std::function<void()>& work) {
    work();
  }

  // Bytes held beside what allocate() gave, in the device's memory.
  virtual int64_t own_memory_bytes() const { return 0; }
  // What people should know of how the Plan's steps are done here; after the kernels are made.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace spmd
