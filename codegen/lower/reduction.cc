#include "codegen/lower/reduction.h"

namespace spmd::codegen {

void lower_reduction(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  const Dims& shape = emitter.fn().type(op.operands[0]).shape;
  const Dims& dims = op.as<ReduceAttrs>().dims;
  plan::Reduce reduce;
  reduce.mutable_shape()->Add(shape.begin(), shape.end());
  reduce.mutable_dims()->Add(dims.begin(), dims.end());
  set_reduction(reduce, emitter, op, /*with_shapes=*/false);
  emitter.add_step().mutable_reduce()->Swap(&reduce);
}

}  // namespace spmd::codegen
