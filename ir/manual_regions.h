// Manual regions (what shard_map became) that were written as custom calls. Readers call these once
// a module is complete, before it is verified.
#pragma once

#include "ir/module.h"
#include "sharding/spec/sharding_text.h"

namespace spmd {

// Turns every `SPMDFullToShardShape` ... `SPMDShardToFullShape` region, as GSPMD writes shard_map,
// into a sdy.manual_computation. Does nothing to a module without them.
void raise_manual_regions(Module& module);

// The same for sdy's form: `xla.sdy.GlobalToLocalShape`, a call of the body, and
// `xla.sdy.LocalToGlobalShape`, with shardings and axes as text in their frontend attributes.
// `meshes` finds what the text names.
void raise_manual_calls(Module& module, const MeshLookup& meshes);

// In older files these attributes are those of the call. The border before it keeps them until the
// region is raised.
using FrontendAttributes = std::vector<std::pair<std::string, std::string>>;
void keep_manual_attributes(Function& fn, OpId call, const FrontendAttributes& attributes);

}  // namespace spmd
