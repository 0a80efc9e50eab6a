// reverse_halves: two halves in exchanged order are one tensor read backwards.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: a concatenation of a tensor's upper half and its lower half, either of them negated (the
// rotation of rotary position embeddings, forward and backward), becomes a reversal of the two
// halves and a choice of sign. That is arithmetic on a view of the tensor, part of the kernel that
// reads it, where a concatenation would be copies.
// Assumes: local types (localize).
// Ensures: the same bits.
// Here: late and on GPUs only, where the kernels are.
Pass reverse_halves_pass();

}  // namespace spmd
