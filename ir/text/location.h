// Locations that consist of others: stacks of calls, fused ones.
#pragma once

#include "ir/module.h"

namespace spmd::text {

// What `outer` does not say is taken from `inner`.
Location merge(Location outer, Location inner);

}  // namespace spmd::text
