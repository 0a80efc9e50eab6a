// Formulas that ONNX's normalisations and the fused ones of other domains share.
#pragma once

#include "frontends/onnx/expr.h"

namespace spmd::onnx {

struct Standardized {
  Expr value;  // mean 0 and variance 1 over the dimensions
  Expr mean, inverse_deviation;
};
Standardized standardized(const Expr& x, const Dims& dims, double epsilon);

// x over the root of its mean square.
Expr rms_normalized(const Expr& x, const Dims& dims, double epsilon);

}  // namespace spmd::onnx
