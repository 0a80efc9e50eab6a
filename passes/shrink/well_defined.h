// Programs whose manual computations mean the same on every device.
#pragma once

#include "ir/module.h"

namespace spmd::shrinking {

// False when a manual computation of main may return a value that differs along a manual axis which
// the result's sharding does not name: what such a program means depends on whose value is taken.
// Conservative: values may vary wherever what they are made of does.
bool is_well_defined(const Module& module);

}  // namespace spmd::shrinking
