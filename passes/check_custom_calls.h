// check_custom_calls: code that is not in the program.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: refuses, as one UserError that lists them all with their places, custom calls: what they
// stand for is outside of the program. Those whose meaning is known have become other ops when the
// program was read.
// Changes nothing.
// Here: after dead ones are gone, and before anything is decided about the others.
Pass check_custom_calls_pass();

}  // namespace spmd
