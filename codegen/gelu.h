// GELU and its derivative in scalar programs, in the form with tanh:
//   gelu(x) = x / 2 (1 + t),   t = tanh(r(x)),   r(x) = sqrt(2 / pi) (x + 0.044715 x^3)
//   gelu'(x) = (1 + t) / 2 + x / 2 (1 - t^2) r'(x)
// Values are compared as polynomials of x and t over the reals, however their terms are written
// (0.5 x (1 + t), x logistic(2 r), x * x * x or x ** 3): equal polynomials are equal functions, but
// for rounding in between. Coefficients may differ by a relative `tolerance`, for programs whose
// constants are rounded; other terms must vanish.
#pragma once

#include <optional>

#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// The value of a constant of a library's floating-point type.
std::optional<double> float_constant(const plan::Instruction& instruction);

// The register that register `value` is GELU of.
std::optional<int> gelu_argument(const plan::ScalarProgram& program, int value, double tolerance);

// s when register `value` is s * register `factor` * gelu'(register `argument`).
std::optional<double> gelu_gradient_scale(const plan::ScalarProgram& program, int value, int factor,
                                          int argument, double tolerance);

}  // namespace spmd::codegen
