#include "ir/verify/products.h"

namespace spmd::verifier {
namespace {

// Operands are rounded to floating-point types, some split into several components, and multiplied
// pair by pair. The known algorithms split into 3 at the most (bf16_9x: 3 x 3 products).
void verify_algorithm(const OpView& v, const DotAlgorithm& algorithm) {
  v.require(is_float(v.operand(0).dtype), "has an algorithm for {}, expected floats", v.operand(0));
  for (DType dtype : {algorithm.lhs, algorithm.rhs, algorithm.accumulation}) {
    v.require(is_float(dtype), "the algorithm computes in {}, expected a floating-point type",
              dtype);
  }
  for (int components : {algorithm.lhs_components, algorithm.rhs_components}) {
    v.require(components >= 1 && components <= 3,
              "the algorithm has {} components, expected 1 to 3", components);
  }
  v.require(algorithm.primitive_operations >= 1 && algorithm.primitive_operations <= 9,
            "the algorithm has {} primitive operations, expected 1 to 9",
            algorithm.primitive_operations);
}

}  // namespace

void verify_contraction(const OpView& v) {
  const auto& attrs = v.op.as<DotAttrs>();
  require_products(v);
  require_precision(v, attrs.precision);
  if (attrs.algorithm) verify_algorithm(v, *attrs.algorithm);
}

}  // namespace spmd::verifier
