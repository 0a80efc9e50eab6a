// defer_reductions: partial values are reduced as late, as seldom and as small as possible.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does, to a fix point:
//   - moves the reduction of a partial value behind a linear op that is its only user (transpose,
//     reshape, negate, slice, sums over other dimensions, conversions that do not widen) when that
//     costs no more;
//   - joins reductions: reduce(a) + reduce(b) becomes reduce(a + b);
//   - moves reductions out of loops: a carry that only accumulates reduced values accumulates the
//     partial ones, and is reduced once after the loop; what it starts with counts once.
// Assumes: placements agree (insert_reshards).
// Ensures: the same, with no more bytes sent.
// Here: on reshards, before padding and lowering, where one op is one reduction and meaning is
// global.
Pass defer_reductions_pass();

}  // namespace spmd
