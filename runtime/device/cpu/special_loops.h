// Loops that the tables of vector_loops.h do not have: special functions, and complex numbers
// beyond their arithmetic. They call libraries one element at a time.
#pragma once

#include "runtime/device/cpu/vector_loops.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::cpu {

// The loop of `op` from operands of lane `from` to results of lane `to`, or null.
TileLoop find_special_loop(plan::ScalarOp op, Lane from, Lane to);

}  // namespace spmd::cpu
