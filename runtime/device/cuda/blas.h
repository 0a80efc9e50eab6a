// Matrix products by cuBLASLt, loaded when the program runs.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/cuda/gpu.h"

namespace spmd::cuda {

// clang-format off
#define SPMD_CUBLASLT_FUNCTIONS(X) \
  X(Create)                        \
  X(Destroy)                       \
  X(GetVersion)                    \
  X(MatmulDescCreate)              \
  X(MatmulDescDestroy)             \
  X(MatmulDescSetAttribute)        \
  X(MatrixLayoutCreate)            \
  X(MatrixLayoutDestroy)           \
  X(MatrixLayoutSetAttribute)      \
  X(MatmulPreferenceCreate)        \
  X(MatmulPreferenceDestroy)       \
  X(MatmulPreferenceSetAttribute)  \
  X(MatmulAlgoGetHeuristic)        \
  X(MatmulAlgoCheck)               \
  X(Matmul)
// clang-format on

class TuningCache;

class Blas {
 public:
  // Throws UserError when the library is missing or of another major version than the headers.
  explicit Blas(const Gpu& gpu);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  cublasLtHandle_t handle() const { return handle_; }
  // 130100: 13.1.0
  size_t version() const { return GetVersion(); }
  const Gpu& gpu() const { return gpu_; }

#define SPMD_CUBLASLT_MEMBER(name) decltype(&::cublasLt##name) name = nullptr;
  SPMD_CUBLASLT_FUNCTIONS(SPMD_CUBLASLT_MEMBER)
#undef SPMD_CUBLASLT_MEMBER

 private:
  const Gpu& gpu_;
  cublasLtHandle_t handle_ = nullptr;
};

// D = activation(scale op(A) op(B) + bias + C), column-major as cuBLAS has it: D and C are m x n,
// op(A) m x k, op(B) k x n, and the bias has m elements of D's type, for every column; leading
// dimensions and the strides between the matrices of a batch in elements.
//
// With kGeluGradient D = scale op(A) op(B) gelu'(aux). With kGelu and `has_aux` what GELU is
// applied to is written to aux. Aux lies as D does.
enum class Activation : uint8_t { kNone, kReLU, kGelu, kGeluGradient };

struct MatmulProblem {
  cudaDataType_t operands = CUDA_R_32F, result = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  int64_t lda = 0, ldb = 0, ldd = 0;
  int64_t batch = 1, stride_a = 0, stride_b = 0, stride_d = 0;
  // Bytes that divide the addresses, at most 256.
  uint32_t align_a = 256, align_b = 256, align_d = 256;
  // The epilogue. C, if there is one, lies as D does; the two may be the same.
  double scale = 1;
  bool has_bias = false, has_c = false, has_aux = false;
  Activation activation = Activation::kNone;

  bool operator==(const MatmulProblem&) const = default;
};

// How a problem is computed: chosen once, by timing.
struct MatmulChoice {
  cublasLtMatmulAlgo_t algorithm{};
  int64_t workspace_bytes = 0;
  int candidates = 0;                // that were timed
  double first_us = 0, best_us = 0;  // the heuristic's first choice, and the one taken
  double after_us = 0;               // of what has to follow (CudaDevice::add_product)
};

// What a product works on; `aux`, `bias` and `c` null where the problem has none.
struct MatmulData {
  const std::byte *a = nullptr, *b = nullptr;
  std::byte *d = nullptr, *aux = nullptr;
  const std::byte *bias = nullptr, *c = nullptr;
};

class Matmul {
 public:
  // Throws UserError (with `op`) when the library cannot compute it.
  Matmul(const Blas& blas, const MatmulProblem& problem, const std::string& op);
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  // Whether the library has an algorithm for the problem.
  bool is_supported() const;
  // Times the candidates on memory of its own, or takes what this process has found before, or what
  // is in the cache. `timed`: raised by one when candidates were timed.
  MatmulChoice choose(TuningCache& cache, int& timed) const;
  void use(const MatmulChoice& choice) { choice_ = choice; }
  const MatmulChoice& choice() const { return choice_; }
  int64_t workspace_bytes() const { return choice_.workspace_bytes; }

  void run(const MatmulData& data, std::byte* workspace) const;

 private:
  std::vector<cublasLtMatmulHeuristicResult_t> found() const;
  // The same; throws UserError when there are none.
  std::vector<cublasLtMatmulHeuristicResult_t> candidates() const;
  // Whether the library has the algorithm of a choice that comes from elsewhere, with no more
  // workspace.
  bool accepts(const MatmulChoice& choice) const;
  // nullopt when there is no memory to time them on.
  std::optional<MatmulChoice> time(
      const std::vector<cublasLtMatmulHeuristicResult_t>& candidates) const;
  cublasStatus_t launch(const cublasLtMatmulAlgo_t& algorithm, const MatmulData& data,
                        std::byte* workspace, int64_t workspace_bytes) const;

  const Blas& blas_;
  MatmulProblem problem_;
  std::string op_;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  MatmulChoice choice_;
};

}  // namespace spmd::cuda
