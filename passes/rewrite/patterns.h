// Local rewrites, by op family. Each adds its patterns to the set.
//
// All keep every value but for the sign of zeros (x + 0 becomes x) and, where stated, nothing
// else: NaN and infinities come out as before.
#pragma once

#include "passes/rewrite/rewriter.h"

namespace spmd {

// x + 0, x * 1, select of a constant, double negation, conversions that cancel, ...
void add_elementwise_patterns(PatternSet& patterns);
// Identity and repeated broadcasts, reshapes, transposes, slices, pads and concatenations.
void add_shape_patterns(PatternSet& patterns);
// Sums of disjoint pads (gradients of slices) become concatenations.
void add_pad_patterns(PatternSet& patterns);
// Reductions over no dimensions, or over dimensions of size 1; of elements that are converted
// first, where the reducer works in a wider type.
void add_reduction_patterns(PatternSet& patterns);
// Bits of four-bit elements, by way of bytes.
void add_four_bit_patterns(PatternSet& patterns);
// Dynamic slices at constant places; indices of at least 32 bits, with a sign.
void add_indexing_patterns(PatternSet& patterns);
// Branches on constants.
void add_control_flow_patterns(PatternSet& patterns);
// Ops on constants: small ones, and splats of any size, which stay splats.
void add_constant_folding(PatternSet& patterns);

}  // namespace spmd
