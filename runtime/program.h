// A Plan's program made ready for one rank: the tree of kernels. Control flow is the same on every
// device.
#pragma once

#include <deque>

#include "collectives/comm/communicator.h"
#include "runtime/collective_step.h"
#include "runtime/device/device.h"

namespace spmd {

struct ProgramContext {
  const plan::Plan& plan;
  const Mesh& mesh;
  comm::Communicator& communicator;
  Device& device;
  LoadContext load;
  // One per collective of the program, in the order of its steps. Addresses stay valid.
  std::deque<CollectiveRecord> collectives;
};

// Runs the steps of `sequence` in order.
KernelPtr make_sequence(const plan::Sequence& sequence, ProgramContext& context);

}  // namespace spmd
