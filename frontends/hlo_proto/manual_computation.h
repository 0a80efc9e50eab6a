// Regions in which shapes are per device: what shard_map became. They are written as custom calls,
// xla.sdy.GlobalToLocalShape, then a call of the body, then xla.sdy.LocalToGlobalShape; or, by
// GSPMD, as SPMDFullToShardShape and SPMDShardToFullShape around the body's ops.
#pragma once

#include <span>

#include "frontends/hlo_proto/handlers.h"

namespace spmd::hlo_proto {

// Custom-call targets that are borders of regions.
std::span<const Handler> manual_handlers();

// Whether a call's callee is the body of a manual computation: it is emitted at the region's end,
// where all that the op needs is known.
bool is_manual_body(Emitter& emitter, const Instruction& call);

}  // namespace spmd::hlo_proto
