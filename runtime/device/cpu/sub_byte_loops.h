// Loops for integers of 2 and 4 bits where computing in lanes of 8 bits and wrapping would differ:
// ops that look at bits, which must not see those above, and conversions that saturate.
#pragma once

#include "runtime/device/cpu/vector_loops.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::cpu {

// The loop of a shift, or of an op that counts bits, on elements of `dtype`; null for other ops and
// types.
TileLoop find_sub_byte_loop(plan::ScalarOp op, plan::DType dtype);

// The loop that converts floats, or the real parts of complex numbers, to integers of `dtype`: to
// the nearest of them, and NaN to 0. Null for other lanes and types.
TileLoop find_sub_byte_convert(Lane from, plan::DType dtype);

}  // namespace spmd::cpu
