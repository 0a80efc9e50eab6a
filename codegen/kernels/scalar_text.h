// Scalar operations as C++ expressions, of which CUDA's are a part. They use the functions of
// support/scalar.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/plan.pb.h"

namespace spmd::codegen::kernels {

// Of a value: "float" for floats of 16 bits, "bool".
std::string_view register_type(plan::DType dtype);
// Of an element in memory: "uint16_t" for floats of 16 bits, "uint8_t" for BOOL.
std::string_view stored_type(plan::DType dtype);

// Between the two; `text` is an expression of one term.
std::string loaded(plan::DType dtype, const std::string& text);
std::string to_store(plan::DType dtype, const std::string& text);

// `bytes`: of one element.
std::string literal(plan::DType dtype, const std::string& bytes);

struct Operation {
  plan::ScalarOp op;
  plan::DType dtype;
  plan::Comparison comparison;
  int64_t immediate;
  // Results of 16 bits by the prelude's half_divide(), half_tanh(), ...
  bool has_half_functions = false;
  // The caller rounds results of 16 bits: they are float32 still.
  bool leaves_rounding = false;
};
// The operation on values, terms of the register types of `types`, rounded to `dtype`.
std::string expression(const Operation& operation, const std::vector<std::string>& args,
                       const std::vector<plan::DType>& types);

// An index, a term of type int64_t, as a value.
std::string from_index(plan::DType dtype, const std::string& index);

// The value that changes nothing when combined by an op that names a reduction.
std::string identity(plan::ScalarOp op, plan::DType dtype);

}  // namespace spmd::codegen::kernels
