#include <algorithm>

#include "passes/rewrite/match.h"
#include "passes/rewrite/patterns.h"

namespace spmd {
namespace {

// A reduction that combines each element with the initial value only: over no dimensions, as JAX
// emits it, or over dimensions of size 1.
bool reduce_of_single_elements(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  if (op.operands.size() != 2) return false;
  const auto reducer = reducer_of(rw.fn(), op.regions[0]);
  if (!reducer) return false;
  const ValueId operand = op.operands[0], init = op.operands[1];
  const Dims& dims = op.as<ReduceAttrs>().dims;
  const bool single = std::all_of(dims.begin(), dims.end(),
                                  [&](int64_t dim) { return rw.type(operand).dim(dim) == 1; });
  if (!single) return false;
  const TensorType type = rw.type(op.results[0]);
  if (type.dtype != rw.type(operand).dtype) return false;  // accumulates in a wider type
  Builder builder = rw.before(id);
  const ValueId reshaped = builder.reshape(operand, type.shape);
  // Combining with the identity is left to the elementwise patterns.
  const ValueId start = builder.broadcast(init, type.shape, {});
  return rw.replace(id, builder.binary(*reducer, start, reshaped));
}

}  // namespace

void add_reduction_patterns(PatternSet& patterns) {
  patterns.add(OpCode::kReduce, reduce_of_single_elements);
}

}  // namespace spmd
