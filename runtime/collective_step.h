// A Plan's collective, made ready: who takes part, and how tensors are laid out in messages.
#pragma once

#include "collectives/comm/communicator.h"
#include "runtime/collective_record.h"
#include "runtime/device/device.h"
#include "sharding/spec/mesh.h"

namespace spmd {

// Between the devices when they are connected, else through host memory. `record` outlives the
// kernel.
KernelPtr make_collective(const plan::Step& step, const plan::Plan& plan, const Mesh& mesh,
                          comm::Communicator& communicator, Device& device,
                          CollectiveRecord* record, LoadContext& context);

}  // namespace spmd
