#include "codegen/lower/lower.h"

namespace spmd::codegen {

void lower_reduction(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  const size_t count = op.results.size();
  std::vector<View> inputs, inits, outputs;
  for (size_t i = 0; i < count; ++i) {
    inputs.push_back(emitter.stored(op.operands[i]));
    inits.push_back(emitter.stored(op.operands[count + i]));
  }
  for (ValueId result : op.results) outputs.push_back(emitter.define(result));

  plan::Reduce& reduce = *emitter.add_step().mutable_reduce();
  const Dims& dims = op.as<ReduceAttrs>().dims;
  reduce.mutable_shape()->Add(inputs[0].shape.begin(), inputs[0].shape.end());
  reduce.mutable_dims()->Add(dims.begin(), dims.end());
  const plan::ScalarOp named = named_reducer(emitter.fn(), op.regions[0]);
  reduce.set_op(count == 1 ? named : plan::NOP);
  *reduce.mutable_program() = region_program(emitter.fn(), op.regions[0], op);
  for (size_t i = 0; i < count; ++i) {
    *reduce.add_inputs() = to_plan(inputs[i], false);
    *reduce.add_inits() = to_plan(inits[i], false);
    *reduce.add_outputs() = to_plan(outputs[i], false);
  }
}

}  // namespace spmd::codegen
