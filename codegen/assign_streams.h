// Which steps may run beside each other.
#pragma once

#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

inline constexpr int32_t kCommunicationStream = 1;

// Gives the collectives among a program's outermost steps a stream of their own, with the fewest
// waits that keep every two accesses to the same bytes in the Plan's order.
void assign_streams(plan::Plan& plan);

}  // namespace spmd::codegen
