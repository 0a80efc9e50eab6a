// hoist_loop_invariants: what a loop computes anew in each iteration, though it does not change,
// is computed once before it.
//
// Does:    a carry that the body returns as it came is replaced by the value that it enters with,
//          captured by the regions; pure ops of the body and the condition whose operands come from
//          outside move out in front of the loop. Constants, iotas, broadcasts and other ops that
//          only lay data out stay inside unless something that moves needs them, so that no large
//          value is held over the loop to save no work.
// Assumes: inline_calls ran. Regions of loops may use values from outside.
// Ensures: the same values. A carry whose value is annotated with another sharding than what it
//          enters with stays a carry.
// Why here: before propagation, so that invariant operands have one sharding inside and outside.
//          Linear in the ops times the depth of nesting.
#pragma once

#include "passes/pass.h"

namespace spmd {

Pass hoist_loop_invariants_pass();

}  // namespace spmd
