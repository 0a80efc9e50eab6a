// Purity: which ops may be removed, repeated, merged or moved.
#pragma once

#include "ir/module.h"

namespace spmd {

// The op's results depend on its operands only, and computing them has no other effect. Looks into
// regions and, for calls, into the callee. Terminators are not pure.
bool is_pure(const Module& module, const Function& fn, OpId id);

// The op's regions must not refer to values outside them (reducers, comparators, manual
// computations); loops and branches may.
bool has_isolated_regions(OpCode code);

}  // namespace spmd
