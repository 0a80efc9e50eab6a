// A Plan's collective, made ready: who takes part, and how tensors are laid out in messages.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/comm/communicator.h"
#include "runtime/device/device.h"
#include "sharding/spec/mesh.h"

namespace spmd {

// What one collective of the Plan has cost so far, since the counters were last reset.
struct CollectiveRecord {
  std::string kind;  // "all_gather"
  std::string axes;  // "data,model"; empty for listed groups
  std::string op;    // that of the step
  int64_t calls = 0;
  int64_t bytes = 0;  // sent by this rank
  double milliseconds = 0;
};

// Between the devices when they are connected, else through host memory. `record` outlives the
// kernel.
KernelPtr make_collective(const plan::Step& step, const plan::Plan& plan, const Mesh& mesh,
                          comm::Communicator& communicator, Device& device,
                          CollectiveRecord* record, LoadContext& context);

}  // namespace spmd
