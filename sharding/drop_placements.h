// Taking a program's placements back.
#pragma once

#include "ir/module.h"

namespace spmd {

// Removes the shardings of all values and results, and the ops that only place a value. Manual
// computations stay. Returns whether there was anything to remove.
bool drop_placements(Module& module);

}  // namespace spmd
