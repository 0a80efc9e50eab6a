#include "runtime/device/cpu/gemm.h"

#include <dlfcn.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cpu/onednn.h"
#include "runtime/device/cpu/openblas.h"
#include "support/error.h"

namespace spmd::cpu {
namespace {

Iteration batches(const GemmProblem& p) {
  return {p.batch, {p.lhs_batch, p.rhs_batch, p.out_batch}};
}

// Any type and any strides. Rows of the result are accumulated in blocks of columns, so that the
// inner loop runs along n.
template <typename T>
class LoopGemm : public Gemm {
 public:
  explicit LoopGemm(const GemmProblem& problem)
      : p_(problem), batches_(batches(problem)), odometer_(batches_, batches_.rank()) {}

  void run(const void* lhs, const void* rhs, void* out) override {
    odometer_.reset();
    do {
      const T* a = static_cast<const T*>(lhs) + odometer_.offset(0);
      const T* b = static_cast<const T*>(rhs) + odometer_.offset(1);
      T* c = static_cast<T*>(out) + odometer_.offset(2);
      for (int64_t m = 0; m < p_.m; ++m)
        for (int64_t n = 0; n < p_.n; n += kBlock)
          row(a + m * p_.lhs_m, b + n * p_.rhs_n, c + m * p_.out_m + n * p_.out_n,
              std::min(kBlock, p_.n - n));
    } while (odometer_.next());
  }

 private:
  static constexpr int64_t kBlock = 64;

  // Integers wrap.
  static void add_product(T& sum, T a, T b) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      using Wide = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
      sum = static_cast<T>(static_cast<Wide>(sum) + static_cast<Wide>(a) * static_cast<Wide>(b));
    } else {
      sum += a * b;
    }
  }

  void row(const T* a, const T* b, T* c, int64_t n) const {
    T sums[kBlock] = {};
    for (int64_t k = 0; k < p_.k; ++k) {
      const T factor = a[k * p_.lhs_k];
      const T* line = b + k * p_.rhs_k;
      if (p_.rhs_n == 1) {
        for (int64_t j = 0; j < n; ++j) add_product(sums[j], factor, line[j]);
      } else {
        for (int64_t j = 0; j < n; ++j) add_product(sums[j], factor, line[j * p_.rhs_n]);
      }
    }
    for (int64_t j = 0; j < n; ++j) c[j * p_.out_n] = sums[j];
  }

  GemmProblem p_;
  Iteration batches_;
  Odometer odometer_;
};

// Unsigned arithmetic wraps as signed arithmetic should.
std::unique_ptr<Gemm> make_loop_gemm(const GemmProblem& problem) {
  switch (problem.lane) {
    case Lane::kBool:
    case Lane::kS8:
    case Lane::kU8:
      return std::make_unique<LoopGemm<uint8_t>>(problem);
    case Lane::kS16:
    case Lane::kU16:
      return std::make_unique<LoopGemm<uint16_t>>(problem);
    case Lane::kS32:
    case Lane::kU32:
      return std::make_unique<LoopGemm<uint32_t>>(problem);
    case Lane::kS64:
    case Lane::kU64:
      return std::make_unique<LoopGemm<uint64_t>>(problem);
    case Lane::kF32:
      return std::make_unique<LoopGemm<float>>(problem);
    case Lane::kF64:
      return std::make_unique<LoopGemm<double>>(problem);
    case Lane::kC64:
      return std::make_unique<LoopGemm<std::complex<float>>>(problem);
    case Lane::kC128:
      return std::make_unique<LoopGemm<std::complex<double>>>(problem);
  }
  return nullptr;
}

GemmProblem exchanged(const GemmProblem& p) {
  GemmProblem result = p;
  std::swap(result.m, result.n);
  std::swap(result.out_m, result.out_n);
  result.lhs_m = p.rhs_n;
  result.lhs_k = p.rhs_k;
  result.rhs_n = p.lhs_m;
  result.rhs_k = p.lhs_k;
  std::swap(result.lhs_batch, result.rhs_batch);
  return result;
}

class ExchangedGemm : public Gemm {
 public:
  explicit ExchangedGemm(std::unique_ptr<Gemm> gemm) : gemm_(std::move(gemm)) {}
  void run(const void* lhs, const void* rhs, void* out) override { gemm_->run(rhs, lhs, out); }

 private:
  std::unique_ptr<Gemm> gemm_;
};

}  // namespace

bool is_blas_matrix(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  if (rows < 1 || columns < 1) return false;
  if (rows == 1) return columns == 1 || column_stride >= 1;
  if (columns == 1) return row_stride >= 1;
  return (column_stride == 1 && row_stride >= columns) ||
         (row_stride == 1 && column_stride >= rows);
}

std::unique_ptr<Gemm> make_gemm(const GemmProblem& given) {
  SPMD_CHECK(given.m > 0 && given.n > 0 && given.k > 0, "an empty product");
  // Libraries write rows: a result that lies by columns is the product of the exchanged operands.
  const bool by_columns = given.n > 1 && given.out_n != 1 && given.out_m == 1;
  if (by_columns) return std::make_unique<ExchangedGemm>(make_gemm(exchanged(given)));
  const GemmProblem& problem = given;
  if (auto gemm = make_onednn_gemm(problem)) return gemm;
  if (auto gemm = make_blas_gemm(problem)) return gemm;
  return make_loop_gemm(problem);
}

void use_one_library_thread() {
  // oneDNN uses OpenMP, which counts threads per calling thread.
  using SetThreads = void (*)(int);
  if (auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(1);
}

}  // namespace spmd::cpu
