#include "runtime/device/cuda/blas.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "runtime/device/device.h"
#include "support/error.h"
#include "support/nvidia_libraries.h"

namespace spmd::cuda {
namespace {

constexpr int64_t kMostWorkspace = int64_t{64} << 20;
constexpr int kMostCandidates = 8;

int64_t element_bytes(cudaDataType_t type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

// Bytes from the first element of the first matrix to behind the last one.
int64_t span_bytes(cudaDataType_t type, int64_t columns, int64_t ld, int64_t batch,
                   int64_t stride) {
  return element_bytes(type) * (columns * ld + (batch - 1) * stride);
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
std::vector<cublasLtMatmulHeuristicResult_t> Matmul::candidates() const {
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
  if (results.empty())
    throw UserError(op_,
                    fmt::format("cuBLASLt {} has no product of {} x {} x {} for this GPU",
                                blas_.version(), problem_.m, problem_.n, problem_.k),
                    "use a newer cuBLAS, or pass --device cpu");
  return results;
}

MatmulChoice Matmul::choose() const {
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
  known.push_back({architecture, problem_, time(candidates())});
  return known.back().choice;
}

namespace {

// Values as programs have them: how many bits toggle decides what the GPU's clock does.
void fill_randomly(const Gpu& gpu, const GpuMemory& memory, int64_t bytes, cudaDataType_t type) {
  constexpr int64_t kPiece = 1 << 20;
  const auto size = static_cast<size_t>(element_bytes(type));
  std::vector<std::byte> piece(static_cast<size_t>(std::min(kPiece, (bytes + 7) / 8 * 8)));
  uint64_t state = 0x9e3779b97f4a7c15U;
  for (size_t at = 0; at + size <= piece.size(); at += size) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto value = static_cast<float>(static_cast<double>(state >> 40) / (1 << 23) - 1);
    const auto wide = static_cast<double>(value);
    // The upper half of a float is its value in bfloat16, and some small number in float16.
    if (type == CUDA_R_64F) {
      std::copy_n(reinterpret_cast<const std::byte*>(&wide), 8, &piece[at]);
    } else if (type == CUDA_R_32F) {
      std::copy_n(reinterpret_cast<const std::byte*>(&value), 4, &piece[at]);
    } else {
      std::copy_n(reinterpret_cast<const std::byte*>(&value) + 2, 2, &piece[at]);
    }
  }
  for (int64_t at = 0; at < bytes; at += kPiece)
    gpu.check(gpu.driver().MemcpyHtoDAsync(
                  memory.address() + static_cast<CUdeviceptr>(at), piece.data(),
                  static_cast<size_t>(std::min(static_cast<int64_t>(piece.size()), bytes - at)),
                  gpu.stream()),
              "filling memory to time products");
  gpu.synchronize();
}

class Stopwatch {
 public:
  explicit Stopwatch(const Gpu& gpu) : gpu_(gpu) {
    for (CUevent* event : {&begin_, &end_})
      gpu_.check(gpu_.driver().EventCreate(event, CU_EVENT_DEFAULT), "making an event");
  }
  ~Stopwatch() {
    for (CUevent event : {begin_, end_}) gpu_.driver().EventDestroy(event);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  // Microseconds that `work` keeps the stream busy.
  double time(const std::function<void()>& work) const {
    gpu_.check(gpu_.driver().EventRecord(begin_, gpu_.stream()), "timing");
    work();
    gpu_.check(gpu_.driver().EventRecord(end_, gpu_.stream()), "timing");
    gpu_.check(gpu_.driver().EventSynchronize(end_), "timing");
    float milliseconds = 0;
    gpu_.check(gpu_.driver().EventElapsedTime(&milliseconds, begin_, end_), "timing");
    return 1000.0 * static_cast<double>(milliseconds);
  }

 private:
  const Gpu& gpu_;
  CUevent begin_ = nullptr, end_ = nullptr;
};

}  // namespace

MatmulChoice Matmul::time(const std::vector<cublasLtMatmulHeuristicResult_t>& candidates) const {
  const auto choice_of = [](const cublasLtMatmulHeuristicResult_t& candidate) {
    MatmulChoice choice;
    choice.algorithm = candidate.algo;
    choice.workspace_bytes = static_cast<int64_t>(candidate.workspaceSize);
    return choice;
  };
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
  GpuMemory a, b, d, workspace;
  try {
    a = GpuMemory(gpu, a_bytes);
    b = GpuMemory(gpu, b_bytes);
    d = GpuMemory(gpu, d_bytes);
    workspace = GpuMemory(gpu, kMostWorkspace);
  } catch (const OutOfMemory&) {
    return best;  // no room to time anything: the heuristic's first choice
  }
  fill_randomly(gpu, a, a_bytes, p.operands);
  fill_randomly(gpu, b, b_bytes, p.operands);
  const Stopwatch stopwatch(gpu);
  constexpr double kEachUs = 3000;
  double best_us = 0;
  for (const auto& candidate : candidates) {
    const auto repeat = [&](int times) {
      bool works = true;
      const double us = stopwatch.time([&] {
        for (int i = 0; i < times && works; ++i)
          works = launch(candidate.algo, a.data(), b.data(), d.data(), workspace.data(),
                         static_cast<int64_t>(candidate.workspaceSize)) == CUBLAS_STATUS_SUCCESS;
      });
      return works ? us / times : -1;
    };
    if (repeat(1) < 0) continue;
    const double once = repeat(2);
    if (once < 0) continue;
    const double us = repeat(std::clamp(static_cast<int>(kEachUs / std::max(once, 1.0)), 3, 100));
    if (us < 0) continue;
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
  return best;
}

cublasStatus_t Matmul::launch(const cublasLtMatmulAlgo_t& algorithm, const std::byte* a,
                              const std::byte* b, std::byte* d, std::byte* workspace,
                              int64_t workspace_bytes) const {
  const double one = 1, zero = 0;
  const float one_f = 1, zero_f = 0;
  const bool wide = problem_.compute == CUBLAS_COMPUTE_64F;
  return blas_.Matmul(blas_.handle(), description_, wide ? static_cast<const void*>(&one) : &one_f,
                      a, a_, b, b_, wide ? static_cast<const void*>(&zero) : &zero_f, d, d_, d, d_,
                      &algorithm, workspace, static_cast<size_t>(workspace_bytes),
                      reinterpret_cast<cudaStream_t>(blas_.gpu().stream()));
}

void Matmul::run(const std::byte* a, const std::byte* b, std::byte* d, std::byte* workspace) const {
  const cublasStatus_t status =
      launch(choice_.algorithm, a, b, d, workspace, choice_.workspace_bytes);
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    throw UserError(op_, fmt::format("cuBLASLt failed with status {}", static_cast<int>(status)),
                    "see whether nvidia-smi and dmesg report a fault of the GPU");
}

}  // namespace spmd::cuda
