// Verifier: local checks of every op.
#pragma once

#include "ir/module.h"

namespace spmd {

// Checks, op by op: operand and result counts, types against infer_types(), regions with their
// arguments and terminators, attribute ranges, definition before use, shardings legal on the
// mesh, and argument_info / result_info sizes. Throws UserError naming the op and its location;
// linear in the number of ops.
void verify(const Module& module);

}  // namespace spmd
