// Borders of regions in which shapes are per device: custom calls, which ir/manual_regions.h turns
// into regions once the module is complete.
#pragma once

#include <span>

#include "frontends/hlo_proto/handlers.h"
#include "ir/manual_regions.h"

namespace spmd::hlo_proto {

// Custom-call targets that are borders.
std::span<const Handler> manual_handlers();

FrontendAttributes frontend_attributes(const Instruction& instruction);

}  // namespace spmd::hlo_proto
