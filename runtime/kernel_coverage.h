// Which steps of a Plan this machine's kernels can run, asked before any rank starts.
#pragma once

#include "runtime/plan/plan.h"

namespace spmd {

// Throws UserError that lists every step of `plan` (verified) for which the CPU has no kernel, each
// with the place of its op in the program.
void require_kernels(const plan::Plan& plan);

}  // namespace spmd
