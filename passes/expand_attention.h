// expand_attention: attention as dots and a softmax.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: replaces spmd.attention and spmd.attention_backward, where the target has no kernel for
// them, by the ops that they stand for. The backward pass computes the probabilities again, in the
// same ops as the forward pass, so that cse makes one of both where they are in one block. Assumes:
// nothing; local and global modules alike. Ensures: the same values but for rounding. Here: after
// localize, so that everything before sees what attention means, and before cse.
Pass expand_attention_pass();

// All of a module, whatever kernels its target has. Returns whether there was any.
bool expand_attention(Module& module);

}  // namespace spmd
