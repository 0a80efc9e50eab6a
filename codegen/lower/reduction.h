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
  step.set_op(count == 1 ? named_reducer(emitter.fn(), op.regions[0]) : plan::NOP);
  *step.mutable_program() = region_program(emitter.fn(), op.regions[0], op);
}

}  // namespace spmd::codegen
