// The order of the factors of a module's mesh axes (sharding/spec/axis_factors.h).
#pragma once

#include "ir/module.h"

namespace spmd {

// Sets it by the parts of axes that the module's shardings and collectives use, in program order.
// Whoever reads a module, or gives it another mesh, calls this before verify(). Linear in the ops.
void choose_axis_factors(Module& module);

}  // namespace spmd
