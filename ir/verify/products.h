// What dot_general and convolution have in common: sums of products of two operands.
#pragma once

#include "ir/verify/families.h"

namespace spmd::verifier {

// Operands and result hold the same kind of number; its width may differ.
inline void require_products(const OpView& v) {
  const DType lhs = v.operand(0).dtype, rhs = v.operand(1).dtype, result = v.result(0).dtype;
  for (unsigned kind : {kBooleans, kIntegers, kFloats, kComplex}) {
    if (contains(kind, lhs) && contains(kind, rhs) && contains(kind, result)) return;
  }
  v.fail(fmt::format("{} and {} give {}, expected one kind of number", lhs, rhs, result),
         "convert the operands first");
}

inline void require_precision(const OpView& v, const std::vector<Precision>& precision) {
  v.require(precision.empty() || precision.size() == 2,
            "has {} precisions, expected one per operand", precision.size());
}

}  // namespace spmd::verifier
