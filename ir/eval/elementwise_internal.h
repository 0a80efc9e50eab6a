// The parts of the elementwise family. Operands are widened; the result has their element type
// unless said otherwise, and the caller rounds it.
#pragma once

#include "ir/eval/eval.h"

namespace spmd::eval {

// One operand. is_finite gives booleans, abs of complex numbers their real type.
Literal apply_unary(OpCode code, const Literal& x, const Dims& shape);
// Two operands; `dtype` is the element type before widening.
Literal apply_binary(OpCode code, const Literal& a, const Literal& b, DType dtype,
                     const Dims& shape);
Literal apply_compare(const CompareAttrs& attrs, const Literal& a, const Literal& b,
                      const Dims& shape);
Literal apply_reduce_precision(const ReducePrecisionAttrs& attrs, const Literal& x);

}  // namespace spmd::eval
