// OpenBLAS, loaded when a product wants it: it starts a thread for every core as soon as it is
// loaded, and those look for work for a tenth of a second.
#pragma once

#include "runtime/device/cpu/gemm.h"

namespace spmd::cpu {

// A product of float32 or float64 matrices. Null where the problem is another one, or the library
// is missing.
std::unique_ptr<Gemm> make_blas_gemm(const GemmProblem& problem);

}  // namespace spmd::cpu
