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
  Builder builder = rw.before(id);
  const ValueId reshaped = builder.reshape(operand, type.shape);
  // Combining with the identity is left to the elementwise patterns.
  const ValueId start = builder.broadcast(init, type.shape, {});
  return rw.replace(id, builder.binary(*reducer, start, reshaped));
}

// Results of a wider type than the operands: the reducer works in that type, and so may what it is
// given.
bool convert_before_reducing(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const size_t count = op.results.size();
  std::vector<ValueId> operands = op.operands;
  bool widens = false;
  Builder builder = rw.before(id);
  for (size_t i = 0; i < operands.size(); ++i) {
    const DType wanted = rw.type(op.results[i % count]).dtype;
    if (rw.type(operands[i]).dtype == wanted) continue;
    operands[i] = builder.convert(operands[i], wanted);
    widens = true;
  }
  if (!widens) return false;
  ValueMap same;
  const OpId wide = clone_op(rw.fn(), id, builder, same);
  rw.fn().set_operands(wide, std::move(operands));
  const std::vector<ValueId> results = rw.op(wide).results;
  return rw.replace(id, results);
}

}  // namespace

void add_reduction_patterns(PatternSet& patterns) {
  patterns.add(OpCode::kReduce, convert_before_reducing);
  patterns.add(OpCode::kReduceWindow, convert_before_reducing);
  patterns.add(OpCode::kReduce, reduce_of_single_elements);
}

}  // namespace spmd
