// Kernel: one step of a Plan made ready to run on a device.
//
// Everything is decided when a kernel is made; run() allocates nothing. Kernels name buffers by
// number, since the buffers of aliased arguments and results change places after each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/dtype.h"
#include "runtime/plan/plan.h"

namespace spmd {

// What a kernel sees while it runs: addresses of the memory that it works on, the device's or, of a
// kernel of the CPU, the host's.
struct RunContext {
  std::byte* const* buffers = nullptr;  // by the Plan's numbers
  std::byte* workspace = nullptr;       // the most that any kernel asked for; aligned to 64 bytes
  // The same for the messages of collectives, which other kernels may run beside.
  std::byte* messages = nullptr;
};

// What a kernel sees while it is made.
struct LoadContext {
  std::string op;                   // of the step, for messages
  int64_t workspace_bytes = 0;      // raised by kernels that need more
  int64_t message_bytes = 0;        // raised by collectives
  bool uses_local_buffers = false;  // set by kernels that want memory for LOCAL buffers

  // Bytes a kernel may use from the start of the workspace.
  void need_workspace(int64_t bytes) {
    if (bytes > workspace_bytes) workspace_bytes = bytes;
  }
  // The same of the memory for messages.
  void need_messages(int64_t bytes) {
    if (bytes > message_bytes) message_bytes = bytes;
  }
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // On a device with a queue, this enqueues the work.
  virtual void run(const RunContext& context) = 0;
};
using KernelPtr = std::unique_ptr<Kernel>;

// A view with its numbers at hand.
struct BoundView {
  BoundView() = default;
  explicit BoundView(const plan::View& view)
      : buffer(view.buffer()),
        dtype(view.dtype()),
        element_bytes(plan::byte_size(view.dtype())),
        offset(view.offset() * element_bytes),
        strides(view.strides().begin(), view.strides().end()),
        shape(view.shape().begin(), view.shape().end()) {}

  std::byte* data(const RunContext& context) const { return context.buffers[buffer] + offset; }

  int32_t buffer = 0;
  plan::DType dtype = plan::INVALID;
  int64_t element_bytes = 0;
  int64_t offset = 0;            // bytes
  std::vector<int64_t> strides;  // elements
  std::vector<int64_t> shape;
};

}  // namespace spmd
