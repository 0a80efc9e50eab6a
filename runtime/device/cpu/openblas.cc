#include "runtime/device/cpu/openblas.h"

#if SPMD_HAVE_OPENBLAS

#include <cblas.h>

#include <cstdlib>
#include <initializer_list>
#include <limits>

#include "runtime/device/cpu/iteration.h"
#include "support/shared_library.h"

namespace spmd::cpu {
namespace {

// Read when the library is loaded; set before the program has threads that could read it.
[[maybe_unused]] const int kOneThread = ::setenv("OPENBLAS_NUM_THREADS", "1", 0);

struct OpenBlas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;
};

OpenBlas load() {
  const SharedLibrary library({"libopenblas.so.0", SPMD_OPENBLAS_LIBRARY});
  if (auto* set = reinterpret_cast<decltype(&openblas_set_num_threads)>(
          library.find("openblas_set_num_threads")))
    set(1);
  return {reinterpret_cast<decltype(&cblas_sgemm)>(library.find("cblas_sgemm")),
          reinterpret_cast<decltype(&cblas_dgemm)>(library.find("cblas_dgemm"))};
}

// Null where the library is not there, or lacks a function.
const OpenBlas* find_library() {
  static const OpenBlas library = load();
  return library.sgemm != nullptr && library.dgemm != nullptr ? &library : nullptr;
}

// A matrix as BLAS takes it: row-major, perhaps transposed, with a leading dimension.
struct BlasMatrix {
  BlasMatrix(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
    const bool plain = columns == 1 || (column_stride == 1 && (rows == 1 || row_stride >= columns));
    transposed = !plain;
    const int64_t outer = plain ? rows : columns, inner = plain ? columns : rows;
    const int64_t stride = plain ? row_stride : column_stride;
    leading = static_cast<int>(outer == 1 ? inner : stride);
  }
  bool transposed;
  int leading;
};

class BlasGemm : public Gemm {
 public:
  BlasGemm(const OpenBlas& library, const GemmProblem& problem)
      : library_(library),
        p_(problem),
        batches_(batches(problem)),
        odometer_(batches_, batches_.rank()),
        lhs_(p_.m, p_.k, p_.lhs_m, p_.lhs_k),
        rhs_(p_.k, p_.n, p_.rhs_k, p_.rhs_n),
        out_(p_.m, p_.n, p_.out_m, p_.out_n) {}

  void run(const void* lhs, const void* rhs, void* out) override {
    odometer_.reset();
    do {
      if (p_.lane == Lane::kF32) {
        multiply(library_.sgemm, at<float>(lhs, 0), at<float>(rhs, 1), at<float>(out, 2));
      } else {
        multiply(library_.dgemm, at<double>(lhs, 0), at<double>(rhs, 1), at<double>(out, 2));
      }
    } while (odometer_.next());
  }

 private:
  template <typename T>
  T* at(const void* base, size_t operand) const {
    return const_cast<T*>(static_cast<const T*>(base)) + odometer_.offset(operand);
  }
  template <typename Function, typename T>
  void multiply(Function gemm, const T* lhs, const T* rhs, T* out) const {
    gemm(CblasRowMajor, lhs_.transposed ? CblasTrans : CblasNoTrans,
         rhs_.transposed ? CblasTrans : CblasNoTrans, static_cast<int>(p_.m),
         static_cast<int>(p_.n), static_cast<int>(p_.k), T(1), lhs, lhs_.leading, rhs, rhs_.leading,
         T(0), out, out_.leading);
  }

  const OpenBlas& library_;
  GemmProblem p_;
  Iteration batches_;
  Odometer odometer_;
  BlasMatrix lhs_, rhs_, out_;
};
bool fits_int(std::initializer_list<int64_t> values) {
  for (int64_t value : values)
    if (value > std::numeric_limits<int>::max()) return false;
  return true;
}

}  // namespace

std::unique_ptr<Gemm> make_blas_gemm(const GemmProblem& p) {
  if (p.lane != Lane::kF32 && p.lane != Lane::kF64) return nullptr;
  if (!fits_int({p.m, p.n, p.k, p.lhs_m, p.lhs_k, p.rhs_n, p.rhs_k, p.out_m, p.out_n}))
    return nullptr;
  if (!is_blas_matrix(p.m, p.k, p.lhs_m, p.lhs_k) || !is_blas_matrix(p.k, p.n, p.rhs_k, p.rhs_n) ||
      !is_blas_matrix(p.m, p.n, p.out_m, p.out_n))
    return nullptr;
  if (BlasMatrix(p.m, p.n, p.out_m, p.out_n).transposed) return nullptr;
  const OpenBlas* library = find_library();
  return library != nullptr ? std::make_unique<BlasGemm>(*library, p) : nullptr;
}

}  // namespace spmd::cpu

#else

namespace spmd::cpu {
std::unique_ptr<Gemm> make_blas_gemm(const GemmProblem&) { return nullptr; }
}  // namespace spmd::cpu

#endif
