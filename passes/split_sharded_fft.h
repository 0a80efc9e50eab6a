// split_sharded_fft: Fourier transforms along dimensions that are cut.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: splits a transform whose operand is cut along dimensions that it transforms, where that
// costs less than gathering them by the cost model.
//  - Of several dimensions, into one transform each; the axes of a dimension are on another one
//    meanwhile.
//  - Of one whose axes no other dimension can take, into shorter ones (the four-step algorithm of
//    Bailey, "FFTs in external or hierarchical memory", 1990): N numbers cut into P blocks are P
//    rows of M; transforms of the columns, a factor for each number, transforms of the rows, and
//    reading the result by columns. P must divide M. Real transforms are not split so.
// Assumes: every value has a sharding (propagate_shardings).
// Ensures: the same, with equal results but for rounding; what moves, moves in all-to-alls.
// Here: after propagation, which tells what is cut, and before insert_reshards, which moves axes
// from dimension to dimension.
Pass split_sharded_fft_pass();

}  // namespace spmd
