// What the steps for reduce and reduce_window have in common.
#pragma once

#include "codegen/lower/lower.h"

namespace spmd::codegen {

// Operands, initial values, results and reducer. Views say their shapes where the step does not.
template <typename Step>
void set_reduction(Step& step, Emitter& emitter, const Op& op, bool with_shapes) {
  const size_t count = op.results.size();
  for (size_t i = 0; i < count; ++i) {
    *step.add_inputs() = to_plan(emitter.stored(op.operands[i]), with_shapes);
    *step.add_inits() = to_plan(emitter.stored(op.operands[count + i]), false);
  }
  for (ValueId result : op.results) {
    *step.add_outputs() = to_plan(emitter.define(result), with_shapes);
  }
  plan::ScalarOp reducer = count == 1 ? named_reducer(emitter.fn(), op.regions[0]) : plan::NOP;
  // No kernel orders complex numbers by a name: the program below does.
  const bool ordered = reducer == plan::MAXIMUM || reducer == plan::MINIMUM;
  if (ordered && is_complex(emitter.fn().type(op.results[0]).dtype)) reducer = plan::NOP;
  step.set_op(reducer);
  *step.mutable_program() = region_program(emitter.fn(), op.regions[0], op);
}

}  // namespace spmd::codegen
