// A Plan's program made ready for one rank: the tree of kernels.
#pragma once

#include <deque>
#include <memory>

#include "collectives/comm/communicator.h"
#include "runtime/collective_step.h"
#include "runtime/device/cpu/kernel.h"

namespace spmd {

struct ProgramContext {
  const plan::Plan& plan;
  const Mesh& mesh;
  comm::Communicator& communicator;
  cpu::LoadContext load;
  // One per collective of the program, in the order of its steps. Addresses stay valid.
  std::deque<CollectiveRecord> collectives;
};

// Runs the steps of `sequence` in order.
std::unique_ptr<cpu::Kernel> make_sequence(const plan::Sequence& sequence, ProgramContext& context);

}  // namespace spmd
