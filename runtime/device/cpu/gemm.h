// Matrix products by whichever library there is.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/cpu/vector_loops.h"

namespace spmd::cpu {

// out[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, n, k], all of type `lane`; strides in
// elements.
struct GemmProblem {
  Lane lane = Lane::kF32;
  int64_t m = 1, n = 1, k = 1;
  int64_t lhs_m = 0, lhs_k = 0;
  int64_t rhs_n = 0, rhs_k = 0;
  int64_t out_m = 0, out_n = 0;
  std::vector<int64_t> batch, lhs_batch, rhs_batch, out_batch;

  int64_t batch_count() const {
    int64_t count = 1;
    for (int64_t size : batch) count *= size;
    return count;
  }
};

class Gemm {
 public:
  virtual ~Gemm() = default;
  virtual void run(const void* lhs, const void* rhs, void* out) = 0;
};

// By oneDNN, OpenBLAS or loops, the first that takes the problem. Libraries want one of a matrix's
// two strides to be 1, see is_blas_matrix().
std::unique_ptr<Gemm> make_gemm(const GemmProblem& problem);

// Whether a rows x columns matrix with these strides can be given to a library as it is.
bool is_blas_matrix(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride);

// Keeps libraries to one thread per rank. Call on each rank's thread before its first product.
void use_one_library_thread();

}  // namespace spmd::cpu
