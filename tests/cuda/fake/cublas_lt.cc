// A stand-in for cuBLASLt: products by plain loops, queued on the stand-in driver's streams. Each
// layout, type and alignment that the library would refuse is refused.
#include <cublasLt.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

extern "C" void spmd_fake_enqueue(CUstream stream, std::function<void()> work, double microseconds);

namespace {

// The only algorithm that there is.
constexpr uint64_t kAlgorithm = 0x53504d44;

struct Layout {
  cudaDataType_t type = CUDA_R_32F;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0, stride = 0;
  int32_t batch = 1;

  int64_t bytes() const { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }
  double at(const void* data, int64_t b, int64_t row, int64_t column) const {
    const int64_t i = b * stride + column * ld + row;
    switch (type) {
      case CUDA_R_64F:
        return static_cast<const double*>(data)[i];
      case CUDA_R_32F:
        return static_cast<double>(static_cast<const float*>(data)[i]);
      case CUDA_R_16F:
        return static_cast<double>(__half2float(static_cast<const __half*>(data)[i]));
      default:
        return static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]));
    }
  }
  void put(void* data, int64_t b, int64_t row, int64_t column, double value) const {
    const int64_t i = b * stride + column * ld + row;
    switch (type) {
      case CUDA_R_64F:
        static_cast<double*>(data)[i] = value;
        return;
      case CUDA_R_32F:
        static_cast<float*>(data)[i] = static_cast<float>(value);
        return;
      case CUDA_R_16F:
        static_cast<__half*>(data)[i] = __float2half_rn(static_cast<float>(value));
        return;
      default:
        static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(static_cast<float>(value));
    }
  }
};

struct Description {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  void* aux = nullptr;
  int64_t aux_ld = 0;

  bool has_bias() const { return (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }
  bool is_rectified() const { return (epilogue & CUBLASLT_EPILOGUE_RELU) != 0; }
  bool is_gelu() const { return (epilogue & CUBLASLT_EPILOGUE_GELU) != 0; }
  bool is_gelu_gradient() const {
    return (epilogue & CUBLASLT_EPILOGUE_DGELU) == CUBLASLT_EPILOGUE_DGELU;
  }
  bool has_aux() const { return (epilogue & 128) != 0; }
};

// The form with tanh.
double gelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double gelu_derivative(double x) {
  const double h = 1e-5;
  return (gelu(x + h) - gelu(x - h)) / (2 * h);
}

template <typename T>
void set(T& field, const void* value) {
  std::memcpy(&field, value, sizeof field);
}

const Layout& layout(cublasLtMatrixLayout_t matrix) {
  return *reinterpret_cast<const Layout*>(matrix);
}

bool is_valid(const Layout& a) {
  return a.ld >= static_cast<int64_t>(a.rows) && a.rows > 0 && a.columns > 0 && a.batch > 0;
}

// Whether the lines of GELU's argument lie as the library wants them.
bool has_aux_lines(const Description& d, const Layout& out) {
  return d.aux_ld >= static_cast<int64_t>(out.rows) && d.aux_ld % 8 == 0;
}

// Whether the library multiplies such types.
bool has_types(const Description& d, const Layout& a, const Layout& b, const Layout& out) {
  if (a.type != b.type) return false;
  if (d.compute == CUBLAS_COMPUTE_64F) return a.type == CUDA_R_64F && out.type == CUDA_R_64F;
  if (a.type == CUDA_R_64F) return false;
  return out.type == a.type || (a.type != CUDA_R_32F && out.type == CUDA_R_32F);
}

void multiply(const Description& d, const Layout& la, const Layout& lb, const Layout& ld,
              const void* a, const void* b, void* out, double alpha, double beta, const void* c) {
  const bool ta = d.transpose_a == CUBLAS_OP_T, tb = d.transpose_b == CUBLAS_OP_T;
  const auto k = static_cast<int64_t>(ta ? la.rows : la.columns);
  Layout aux = ld;
  aux.ld = d.aux_ld;
  for (int64_t batch = 0; batch < ld.batch; ++batch)
    for (int64_t n = 0; n < static_cast<int64_t>(ld.columns); ++n)
      for (int64_t m = 0; m < static_cast<int64_t>(ld.rows); ++m) {
        double sum = 0;
        for (int64_t i = 0; i < k; ++i)
          sum += la.at(a, batch, ta ? i : m, ta ? m : i) * lb.at(b, batch, tb ? n : i, tb ? i : n);
        double value = alpha * sum;
        if (beta != 0) value += beta * ld.at(c, batch, m, n);
        if (d.has_bias()) value += ld.at(d.bias, 0, m, 0);
        if (d.is_rectified() && value < 0) value = 0;
        if (d.is_gelu()) {
          if (d.has_aux()) aux.put(d.aux, batch, m, n, value);
          value = gelu(value);
        }
        if (d.is_gelu_gradient()) value *= gelu_derivative(aux.at(d.aux, batch, m, n));
        ld.put(out, batch, m, n, value);
      }
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
// SPMD_FAKE_CUBLAS_VERSION: that of the headers without it.
size_t cublasLtGetVersion() {
  const char* text = std::getenv("SPMD_FAKE_CUBLAS_VERSION");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : CUBLAS_VERSION;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* result, cublasComputeType_t compute,
                                        cudaDataType_t) {
  auto* description = new Description;
  description->compute = compute;
  *result = reinterpret_cast<cublasLtMatmulDesc_t>(description);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete reinterpret_cast<Description*>(description);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void* value, size_t) {
  auto* d = reinterpret_cast<Description*>(description);
  if (which == CUBLASLT_MATMUL_DESC_TRANSA) set(d->transpose_a, value);
  if (which == CUBLASLT_MATMUL_DESC_TRANSB) set(d->transpose_b, value);
  if (which == CUBLASLT_MATMUL_DESC_EPILOGUE) set(d->epilogue, value);
  if (which == CUBLASLT_MATMUL_DESC_BIAS_POINTER) set(d->bias, value);
  if (which == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER) set(d->aux, value);
  if (which == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD) set(d->aux_ld, value);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* result, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
  auto* matrix = new Layout;
  matrix->type = type;
  matrix->rows = rows;
  matrix->columns = columns;
  matrix->ld = ld;
  *result = reinterpret_cast<cublasLtMatrixLayout_t>(matrix);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matrix) {
  delete reinterpret_cast<Layout*>(matrix);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t matrix,
                                                cublasLtMatrixLayoutAttribute_t which,
                                                const void* value, size_t) {
  auto* m = reinterpret_cast<Layout*>(matrix);
  if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) set(m->batch, value);
  if (which == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) set(m->stride, value);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  const Layout &la = layout(a), &lb = layout(b), &ld = layout(d);
  const auto& desc = *reinterpret_cast<const Description*>(description);
  *found = 0;
  if (!is_valid(la) || !is_valid(lb) || !is_valid(ld) || !has_types(desc, la, lb, ld))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (desc.has_aux() && !has_aux_lines(desc, ld)) return CUBLAS_STATUS_NOT_SUPPORTED;
  results[0] = {};
  results[0].workspaceSize = 512;
  results[0].algo.data[0] = kAlgorithm;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (algorithm->data[0] != kAlgorithm) return CUBLAS_STATUS_NOT_SUPPORTED;
  result->workspaceSize = 512;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t la, const void* b,
                              cublasLtMatrixLayout_t lb, const void* beta, const void* c,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t bytes,
                              cudaStream_t stream) {
  if (algorithm->data[0] != kAlgorithm) return CUBLAS_STATUS_INVALID_VALUE;
  const Layout x = layout(la), y = layout(lb), z = layout(ld);
  const Description description_copy = *reinterpret_cast<const Description*>(description);
  const bool wide = description_copy.compute == CUBLAS_COMPUTE_64F;
  const auto factor = [&](const void* value) {
    return wide ? *static_cast<const double*>(value)
                : static_cast<double>(*static_cast<const float*>(value));
  };
  const double scale = factor(alpha), share = factor(beta);
  if (description_copy.has_bias() && description_copy.bias == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (description_copy.has_aux() && (description_copy.aux == nullptr ||
                                     reinterpret_cast<uintptr_t>(description_copy.aux) % 16 != 0))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes < 512 || workspace == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  spmd_fake_enqueue(
      reinterpret_cast<CUstream>(stream),
      [=] {
        std::memset(workspace, 0x5a, bytes);  // it is the library's
        multiply(description_copy, x, y, z, a, b, d, scale, share, c);
      },
      1);
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
