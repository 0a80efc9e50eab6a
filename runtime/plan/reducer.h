// The scalar programs of reductions, as steps give them: one op, or a program.
#pragma once

#include "runtime/plan/plan.pb.h"

namespace spmd::plan {

// (accumulators..., elements...) -> accumulators, in the stored types. `dtype`: of the operand of
// a single op.
ScalarProgram reducer_program(ScalarOp op, const ScalarProgram& program, DType dtype);

// The same where floats of 16 bits and fewer accumulate in F32; its inputs and outputs are then
// F32. No output is another operand's accumulator, so that outputs can be written over
// accumulators one after the other.
ScalarProgram accumulating_program(ScalarOp op, const ScalarProgram& program, DType dtype);

}  // namespace spmd::plan
