// Floating-point (and integer) operations that a program executes.
#pragma once

#include "ir/module.h"

namespace spmd {

// 2 M N K for each contraction, the same counted over the kernel for a convolution; 1 per element
// for elementwise ops; 1 per input element for reductions and scans over it; the window size per
// output element for window ops; n log2 n for sorts. Ops that only move or make data count nothing.
// A loop counts as often as it runs, once where that is not known; a branch as its dearest; a
// manual computation once per device of its manual axes. On a localised module this is what one
// rank executes.
double flops(const Module& module);

// The same, of contractions and convolutions only: the FLOPs of the MFU convention.
double contraction_flops(const Module& module);
// Of one op alone.
double contraction_flops(const Function& fn, const Op& op);

// Of one op, its regions included once per trip.
double flops(const Module& module, const Function& fn, OpId id);

}  // namespace spmd
