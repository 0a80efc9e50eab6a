// Formulas that ONNX's quantised ops and those of other domains share.
#pragma once

#include "frontends/onnx/node.h"

namespace spmd::onnx {

// An operand as i32, less its zero point (none: 0): one number, or one per element of `dim`.
Expr centered(Node& node, const Expr& x, const Expr& zero, int64_t dim);

// x in u8, with scale and zero point from the range of its values, which 0 belongs to.
struct Quantized {
  Expr value, scale, zero;
};
Quantized dynamically_quantized(const Expr& x);

}  // namespace spmd::onnx
