// Manual regions that were written as custom calls.
#pragma once

#include "ir/module.h"

namespace spmd {

// Turns every `SPMDFullToShardShape` ... `SPMDShardToFullShape` region, as GSPMD writes shard_map,
// into a sdy.manual_computation. Does nothing to a module without them.
void raise_manual_regions(Module& module);

}  // namespace spmd
