// The scalar programs of reductions, as steps give them: one op, or a program.
#pragma once

#include "runtime/device/cpu/tile_program.h"

namespace spmd::cpu {

// (accumulators..., elements...) -> accumulators, in the stored types. `dtype`: of the operand of
// a single op.
plan::ScalarProgram reducer_program(plan::ScalarOp op, const plan::ScalarProgram& program,
                                    plan::DType dtype);

// The same where floats of 16 bits and fewer accumulate in F32; its inputs and outputs are then
// F32. No output is another operand's accumulator, so that outputs can be written over
// accumulators one after the other.
plan::ScalarProgram accumulating_program(plan::ScalarOp op, const plan::ScalarProgram& program,
                                         plan::DType dtype);

}  // namespace spmd::cpu
