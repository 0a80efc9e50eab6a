#include "runtime/device/cuda/blas.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

#include "runtime/device/cuda/random_values.h"
#include "runtime/device/cuda/stopwatch.h"
#include "runtime/device/cuda/tuning_cache.h"
#include "runtime/device/device.h"
#include "support/error.h"
#include "support/nvidia_libraries.h"

namespace spmd::cuda {
namespace {

constexpr int64_t kMostWorkspace = int64_t{64} << 20;
constexpr int kMostCandidates = 8;

// Bytes from the first element of the first matrix to behind the last one.
int64_t span_bytes(cudaDataType_t type, int64_t columns, int64_t ld, int64_t batch,
                   int64_t stride) {
  return element_bytes(type) * (columns * ld + (batch - 1) * stride);
}

cublasLtEpilogue_t epilogue_of(const MatmulProblem& p) {
  uint32_t epilogue = p.has_bias ? CUBLASLT_EPILOGUE_BIAS : 0;
  switch (p.activation) {
    case Activation::kNone:
      return p.has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case Activation::kReLU:
      epilogue |= CUBLASLT_EPILOGUE_RELU;
      break;
    case Activation::kGelu:
      epilogue |= p.has_aux ? CUBLASLT_EPILOGUE_GELU_AUX : CUBLASLT_EPILOGUE_GELU;
      break;
    case Activation::kGeluGradient:
      epilogue |= CUBLASLT_EPILOGUE_DGELU;
      break;
  }
  return static_cast<cublasLtEpilogue_t>(epilogue);
}

}  // namespace

Blas::Blas(const Gpu& gpu) : gpu_(gpu) {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  const SharedLibrary& library = require_library(name, "cuBLAS (libcublas of the CUDA Toolkit)");
#define SPMD_CUBLASLT_FIND(function)                                         \
  function = reinterpret_cast<decltype(function)>(require_function(library,  \
                                                                   "cublasL" \
                                                                   "t" #function));
  SPMD_CUBLASLT_FUNCTIONS(SPMD_CUBLASLT_FIND)
#undef SPMD_CUBLASLT_FIND
  const cublasStatus_t status = Create(&handle_);
  if (status != CUBLAS_STATUS_SUCCESS)
    throw UserError(library.path(),
                    fmt::format("cuBLASLt does not start: status {}", static_cast<int>(status)),
                    "see whether the driver is as new as the library");
}

Blas::~Blas() {
  if (handle_ != nullptr) Destroy(handle_);
}

Matmul::Matmul(const Blas& blas, const MatmulProblem& problem, const std::string& op)
    : blas_(blas), problem_(problem), op_(op) {
  const auto expect = [&](cublasStatus_t status) {
    SPMD_CHECK(status == CUBLAS_STATUS_SUCCESS, "cuBLASLt refuses a description: {}",
               static_cast<int>(status));
  };
  const MatmulProblem& p = problem_;
  const cudaDataType_t scale = p.compute == CUBLAS_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F;
  expect(blas_.MatmulDescCreate(&description_, p.compute, scale));
  const auto transpose = [&](cublasLtMatmulDescAttributes_t which, bool transposed) {
    const int32_t value = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    expect(blas_.MatmulDescSetAttribute(description_, which, &value, sizeof value));
  };
  transpose(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_a);
  transpose(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_b);
  const auto epilogue_value = static_cast<uint32_t>(epilogue_of(p));
  const auto bias_type = static_cast<int32_t>(p.result);
  expect(blas_.MatmulDescSetAttribute(description_, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue_value,
                                      sizeof epilogue_value));
  if (p.has_bias)
    expect(blas_.MatmulDescSetAttribute(description_, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
                                        &bias_type, sizeof bias_type));
  if (p.has_aux)
    expect(blas_.MatmulDescSetAttribute(description_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &p.ldd,
                                        sizeof p.ldd));
  const auto layout = [&](cublasLtMatrixLayout_t* matrix, cudaDataType_t type, int64_t rows,
                          int64_t columns, int64_t ld, int64_t stride) {
    expect(blas_.MatrixLayoutCreate(matrix, type, static_cast<uint64_t>(rows),
                                    static_cast<uint64_t>(columns), ld));
    const auto count = static_cast<int32_t>(p.batch);
    expect(blas_.MatrixLayoutSetAttribute(*matrix, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                          sizeof count));
    expect(blas_.MatrixLayoutSetAttribute(*matrix, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                          &stride, sizeof stride));
  };
  layout(&a_, p.operands, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p.lda, p.stride_a);
  layout(&b_, p.operands, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, p.ldb, p.stride_b);
  layout(&d_, p.result, p.m, p.n, p.ldd, p.stride_d);
}

Matmul::~Matmul() {
  for (cublasLtMatrixLayout_t matrix : {a_, b_, d_})
    if (matrix != nullptr) blas_.MatrixLayoutDestroy(matrix);
  if (description_ != nullptr) blas_.MatmulDescDestroy(description_);
}

// Only algorithms that add up in the type of the computation, so that sums are rounded once.
std::vector<cublasLtMatmulHeuristicResult_t> Matmul::found() const {
  cublasLtMatmulPreference_t preference = nullptr;
  blas_.MatmulPreferenceCreate(&preference);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t which, const auto& value) {
    blas_.MatmulPreferenceSetAttribute(preference, which, &value, sizeof value);
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kMostWorkspace));
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, problem_.align_a);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, problem_.align_b);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, problem_.align_d);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, problem_.align_d);
  std::vector<cublasLtMatmulHeuristicResult_t> results(kMostCandidates);
  int found = 0;
  const cublasStatus_t status =
      blas_.MatmulAlgoGetHeuristic(blas_.handle(), description_, a_, b_, d_, d_, preference,
                                   kMostCandidates, results.data(), &found);
  blas_.MatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS) found = 0;
  results.resize(static_cast<size_t>(found));
  std::erase_if(results, [](const auto& r) { return r.state != CUBLAS_STATUS_SUCCESS; });
  return results;
}

std::vector<cublasLtMatmulHeuristicResult_t> Matmul::candidates() const {
  std::vector<cublasLtMatmulHeuristicResult_t> results = found();
  if (results.empty())
    throw UserError(op_,
                    fmt::format("cuBLASLt {} has no product of {} x {} x {} for this GPU",
                                blas_.version(), problem_.m, problem_.n, problem_.k),
                    "use a newer cuBLAS, or pass --device cpu");
  return results;
}

bool Matmul::is_supported() const {
  static std::mutex mutex;
  static std::vector<std::pair<MatmulProblem, bool>> known;
  const std::lock_guard lock(mutex);
  for (const auto& [problem, supported] : known)
    if (problem == problem_) return supported;
  return known.emplace_back(problem_, !found().empty()).second;
}

bool Matmul::accepts(const MatmulChoice& choice) const {
  if (choice.workspace_bytes > kMostWorkspace) return false;
  for (const cublasLtMatmulHeuristicResult_t& candidate : found())
    if (std::memcmp(&candidate.algo, &choice.algorithm, sizeof candidate.algo) == 0)
      return static_cast<int64_t>(candidate.workspaceSize) <= choice.workspace_bytes;
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status = blas_.MatmulAlgoCheck(blas_.handle(), description_, a_, b_, d_, d_,
                                                      &choice.algorithm, &result);
  return status == CUBLAS_STATUS_SUCCESS && result.state == CUBLAS_STATUS_SUCCESS &&
         static_cast<int64_t>(result.workspaceSize) <= choice.workspace_bytes;
}

namespace {

MatmulChoice choice_of(const cublasLtMatmulHeuristicResult_t& candidate) {
  MatmulChoice choice;
  choice.algorithm = candidate.algo;
  choice.workspace_bytes = static_cast<int64_t>(candidate.workspaceSize);
  return choice;
}

}  // namespace

MatmulChoice Matmul::choose(TuningCache& cache, int& timed) const {
  struct Known {
    int architecture;
    MatmulProblem problem;
    MatmulChoice choice;
  };
  static std::mutex mutex;
  static std::vector<Known> known;
  // Held while timing too: of ranks that are threads one times, undisturbed.
  const std::lock_guard lock(mutex);
  const int architecture = blas_.gpu().architecture();
  for (const Known& entry : known)
    if (entry.architecture == architecture && entry.problem == problem_) return entry.choice;
  std::optional<MatmulChoice> choice = cache.find(problem_, blas_.version());
  if (choice && !accepts(*choice)) {
    cache.refuse("is no algorithm of the library");
    choice.reset();
  }
  if (!choice) {
    const std::vector<cublasLtMatmulHeuristicResult_t> found = candidates();
    choice = time(found);
    if (choice) {
      cache.put(problem_, blas_.version(), *choice);
      if (choice->candidates > 0) ++timed;
    } else {
      choice = choice_of(found.front());
    }
  }
  known.push_back({architecture, problem_, *choice});
  return *choice;
}

namespace {}  // namespace

std::optional<MatmulChoice> Matmul::time(
    const std::vector<cublasLtMatmulHeuristicResult_t>& candidates) const {
  MatmulChoice best = choice_of(candidates.front());
  const MatmulProblem& p = problem_;
  // What takes no longer than its launch is not worth the time.
  constexpr int64_t kSmall = int64_t{1} << 26;
  if (candidates.size() == 1 || p.m * p.n * p.k * p.batch < kSmall) return best;
  const int64_t a_bytes =
                    span_bytes(p.operands, p.transpose_a ? p.m : p.k, p.lda, p.batch, p.stride_a),
                b_bytes =
                    span_bytes(p.operands, p.transpose_b ? p.k : p.n, p.ldb, p.batch, p.stride_b),
                d_bytes = span_bytes(p.result, p.n, p.ldd, p.batch, p.stride_d);
  const Gpu& gpu = blas_.gpu();
  GpuMemory a, b, d, aux, bias, workspace;
  try {
    a = GpuMemory(gpu, a_bytes);
    b = GpuMemory(gpu, b_bytes);
    d = GpuMemory(gpu, d_bytes);
    aux = GpuMemory(gpu, p.has_aux ? d_bytes : 0);
    bias = GpuMemory(gpu, p.has_bias ? p.m * element_bytes(p.result) : 0);
    workspace = GpuMemory(gpu, kMostWorkspace);
  } catch (const OutOfMemory&) {
    return std::nullopt;
  }
  fill_randomly(gpu, a, a_bytes, p.operands);
  fill_randomly(gpu, b, b_bytes, p.operands);
  if (p.has_bias) fill_randomly(gpu, bias, p.m * element_bytes(p.result), p.result);
  if (p.has_aux) fill_randomly(gpu, aux, d_bytes, p.result);
  MatmulData data{a.data(), b.data(), d.data()};
  if (p.has_aux) data.aux = aux.data();
  if (p.has_bias) data.bias = bias.data();
  if (p.has_c) data.c = d.data();
  const Stopwatch stopwatch(gpu);
  double best_us = 0;
  for (const auto& candidate : candidates) {
    const std::optional<double> each = stopwatch.each([&] {
      return launch(candidate.algo, data, workspace.data(),
                    static_cast<int64_t>(candidate.workspaceSize)) == CUBLAS_STATUS_SUCCESS;
    });
    if (!each) continue;
    const double us = *each;
    if (best.candidates == 0) best.first_us = us;
    const int timed = best.candidates + 1;
    const double first_us = best.first_us;
    if (best_us == 0 || us < best_us) {
      best = choice_of(candidate);
      best_us = us;
    }
    best.candidates = timed;
    best.first_us = first_us;
    best.best_us = best_us;
  }
  // None of them runs: whatever else there is, is faster.
  if (best.candidates == 0) best.best_us = std::numeric_limits<double>::max();
  return best;
}

cublasStatus_t Matmul::launch(const cublasLtMatmulAlgo_t& algorithm, const MatmulData& data,
                              std::byte* workspace, int64_t workspace_bytes) const {
  const double alpha = problem_.scale, beta = problem_.has_c ? 1 : 0;
  const auto alpha_f = static_cast<float>(alpha), beta_f = static_cast<float>(beta);
  const bool wide = problem_.compute == CUBLAS_COMPUTE_64F;
  const auto factor = [&](const double& own, const float& narrow) {
    return wide ? static_cast<const void*>(&own) : &narrow;
  };
  const auto point = [&](bool has, cublasLtMatmulDescAttributes_t which, const std::byte* at) {
    return has ? blas_.MatmulDescSetAttribute(description_, which, &at, sizeof at)
               : CUBLAS_STATUS_SUCCESS;
  };
  cublasStatus_t status = point(problem_.has_bias, CUBLASLT_MATMUL_DESC_BIAS_POINTER, data.bias);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  status = point(problem_.has_aux, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, data.aux);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  return blas_.Matmul(blas_.handle(), description_, factor(alpha, alpha_f), data.a, a_, data.b, b_,
                      factor(beta, beta_f), problem_.has_c ? data.c : data.d, d_, data.d, d_,
                      &algorithm, workspace, static_cast<size_t>(workspace_bytes),
                      reinterpret_cast<cudaStream_t>(blas_.gpu().stream()));
}

void Matmul::run(const MatmulData& data, std::byte* workspace) const {
  const cublasStatus_t status = launch(choice_.algorithm, data, workspace, choice_.workspace_bytes);
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    throw UserError(op_, fmt::format("cuBLASLt failed with status {}", static_cast<int>(status)),
                    "see whether nvidia-smi and dmesg report a fault of the GPU");
}

}  // namespace spmd::cuda
