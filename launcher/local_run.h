// A compiled program, run on ranks that are threads of this process.
#pragma once

#include <span>
#include <vector>

#include "ir/literal.h"
#include "passes/compile.h"

namespace spmd {

// Runs `steps` steps from the whole tensors `arguments`, and returns the whole results of each.
// Before every step but the first, arguments that a result replaces are given their first values
// again and the others left alone: all steps have the same results unless a step spoils what it
// should not touch. Throws InternalError when ranks that hold the same block differ, and what
// ranks throw.
std::vector<std::vector<Literal>> run_on_local_ranks(const CompileResult& program,
                                                     std::span<const Literal> arguments, int steps);

}  // namespace spmd
