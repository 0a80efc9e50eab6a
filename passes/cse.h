// cse: computes once what is computed twice.
//
// Does:    merges a pure op into an equal one (same code, operands, attributes, result types and
//          result shardings; structurally equal regions) that comes before it in the same block or
//          in an enclosing one. Operands of commutative ops may stand in either order.
// Assumes: nothing.
// Ensures: never merges values annotated with different shardings, nor optimization_barriers:
//          they mark what is to be computed again. Reducers and manual computations do not come to
//          use values from outside.
// Why here: after simplify, which makes equal ops look equal; before propagation, so that they
//          get one sharding. Linear in the ops.
#pragma once

#include "passes/pass.h"

namespace spmd {

Pass cse_pass();

}  // namespace spmd
