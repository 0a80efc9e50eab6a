// inline_calls: every call becomes the callee's ops.
//
// Does:    copies the callee's body in place of each func.call, callees first, and drops the
//          functions that nothing calls any more.
// Assumes: nothing. Throws UserError when functions call each other in a circle, or when the copies
//          would be too many to hold.
// Ensures: main is the only function and holds no func.call. Shardings written on the arguments and
//          results of an inlined function stay as annotations of the values, or as
//          sdy.sharding_constraint where a value has another one already.
// Why here: first of all, so that no later pass needs to look across functions. Linear in the ops
//          of the result.
#pragma once

#include "passes/pass.h"

namespace spmd {

Pass inline_calls_pass();

}  // namespace spmd
