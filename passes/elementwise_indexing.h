// elementwise_indexing: indexing without a tensor in memory for its sake.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: what a loss over a vocabulary is differentiated into, as arithmetic that becomes part of
// the kernels around it.
//  - Taking elements of a converted tensor: they are taken first and converted then, so that the
//    converted tensor need not lie in memory.
//  - Adding one number to each row of a tensor of zeros, at an index of the row's own: each element
//    compares its place with the row's index.
// Assumes: local types (localize).
// Ensures: the same values.
// Here: late and on GPUs only, where the kernels are.
Pass elementwise_indexing_pass();

}  // namespace spmd
