// reduce: for each result element, the operand's elements in row-major order.
#include "ir/eval/eval.h"
#include "ir/eval/reducer.h"

namespace spmd::eval {

Literals eval_reduce(const Invocation& in) {
  const Reducer reducer(in, in.op.regions[0]);
  const size_t n = in.operands.size() / 2;
  const TensorType& operand_type = in.operands[0].type();
  const Dims& result_shape = in.result_type().shape;

  // A reduced dimension does not move the accumulator.
  View acc_view{0, Dims(operand_type.shape.size(), 0)};
  std::vector<bool> reduced(operand_type.shape.size(), false);
  for (int64_t d : in.attrs<ReduceAttrs>().dims) reduced[static_cast<size_t>(d)] = true;
  const Dims result_strides = row_major_strides(result_shape);
  for (size_t d = 0, kept = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) acc_view.strides[d] = result_strides[kept++];
  }

  Literals acc, x;
  for (size_t i = 0; i < n; ++i) {
    acc.push_back(reducer.accumulator(in.operands[n + i], result_shape, i));
    // Several operands share one view, so none may stay a splat.
    Literal widened = reducer.widened(in.operands[i], i);
    x.push_back(n == 1 ? std::move(widened) : widened.expanded());
  }
  reducer.combine(operand_type.shape, acc, acc_view, x, view_of(x[0]));

  Literals results;
  for (size_t i = 0; i < n; ++i) {
    results.push_back(Reducer::finished(acc[i], in.result_type(i).dtype));
  }
  return results;
}

}  // namespace spmd::eval
