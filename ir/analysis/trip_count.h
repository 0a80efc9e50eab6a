// How often a loop runs, where the program says so.
#pragma once

#include <optional>

#include "ir/module.h"

namespace spmd {

// The number of times the body of a while op runs, when it counts an integer carry from a constant
// by a constant step and stops at a constant, as exported scans and for-loops do. A constant may
// stand outside the loop, or be carried through it (or through enclosing loops) unchanged. nullopt
// when the count depends on data, when the loop never ends, or when the counter would wrap around.
std::optional<int64_t> trip_count(const Function& fn, OpId while_op);

}  // namespace spmd
