// Pairs of floats of 16 bits as CUDA expressions. A pair is one register, the first of two
// neighbours in its low half: a GPU adds and multiplies both at once, and rounds both in one
// instruction.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/plan.pb.h"

namespace spmd::codegen::kernels {

// Types whose neighbours are pairs: F16 and BF16.
bool has_pairs(plan::DType dtype);

// Of two terms of type float, rounded to `dtype`.
std::string pair_of(plan::DType dtype, const std::string& low, const std::string& high);

// Of an element's two bytes.
std::string pair_literal(const std::string& bytes);

// Element 0 or 1 of a pair, a term of type float.
std::string element_of_pair(plan::DType dtype, const std::string& pair, int element);

// The operation on pairs, rounded once as its elements would be; empty where there is none for
// pairs.
std::string pair_expression(plan::ScalarOp op, plan::DType dtype,
                            const std::vector<std::string>& pairs);

}  // namespace spmd::codegen::kernels
