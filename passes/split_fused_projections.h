// split_fused_projections: a matrix product whose result is cut into pieces becomes one product per
// piece ("qkv").
//
// Does:    slice(dot(x, w) + b) along a free dimension of w -> dot(x, slice(w)) + slice(b), when
// the
//          product is used by disjoint slices only; and for its gradient, where the pieces come
//          together again in a concatenation c:
//            dot(c, w) over the concatenated dimension -> the sum of the pieces' products
//            dot(c, x), reduce(c) beside it           -> the concatenation of the pieces' results
// Assumes: inline_calls and simplify ran (sums of disjoint pads are concatenations).
// Ensures: the same values up to the order of a few additions, which happen in float32 or wider.
// Why here: before propagation. A weight of q, k and v side by side that is split over a mesh axis
//          gives blocks that hold parts of two of them, and every use of the activations would have
//          to exchange data; pieces of the weight are exchanged instead. Only products with such a
//          weight are touched: one whose pieced dimension is, or may come to be, divided over a
//          mesh axis that does not divide the batch. Elsewhere one large product is faster than
//          three small ones. Linear in the ops.
#pragma once

#include "passes/pass.h"

namespace spmd {

Pass split_fused_projections_pass();

}  // namespace spmd
