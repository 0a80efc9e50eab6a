// dce: removes what no result needs.
//
// Does:    finds what the function's results and ops with side effects need, through loop carries
//          and the results of branches, and removes the rest: ops, carries that only feed
//          themselves, results of branches, operands of barriers and of manual computations that
//          nothing uses, and functions that nothing calls.
// Assumes: nothing. Loops end.
// Ensures: every pure op, carry and branch result is needed. Arguments and results of main stay as
//          they are.
// Why here: after each pass that leaves things behind. Linear in the ops and operands.
#pragma once

#include "passes/pass.h"

namespace spmd {

Pass dce_pass();

}  // namespace spmd
