// What reduce and reduce_window have in common: N operands, then their N initial values, and a
// region that reduces pairs of elements.
#pragma once

#include "ir/verify/families.h"

namespace spmd::verifier {

// Initial values are scalars of the operands' element types; results may be of wider ones, which
// are the region's.
inline void require_reduction(const OpView& v) {
  const size_t count = v.op.operands.size() / 2;
  std::vector<DType> accumulators;
  for (size_t i = 0; i < count; ++i) {
    const TensorType &operand = v.operand(i), &result = v.result(i);
    v.require_type("an initial value", v.operand(count + i), {operand.dtype, {}});
    v.require(is_promotable(operand.dtype, result.dtype),
              "result {} is {}, expected elements of {} or a wider type", i, result, operand.dtype);
    accumulators.push_back(result.dtype);
  }
  v.require_reducer(0, accumulators);
}

}  // namespace spmd::verifier
