// raise_attention: softmax attention as one op.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: replaces the dots, masks and softmax of an attention layer by spmd.attention, and those of
// its backward pass by spmd.attention_backward. They are found by what they compute, whatever the
// order of factors, of dimensions and of operands (passes/raise/), and only where nobody else uses
// what is computed between them, so that probabilities need not be kept. A backward pass alone,
// which computes the probabilities again, gets a forward pass for the output and statistics that it
// needs. Assumes: one function, simplified. Ensures: the same values but for rounding; what is
// replaced has no users left (dce). Here: before propagation, which then sees batches and heads as
// independent, and before anything is cut, padded or gathered between the parts.
Pass raise_attention_pass();

}  // namespace spmd
