#include <algorithm>

#include "ir/infer/checks.h"
#include "ir/infer/families.h"

namespace spmd::infer {
namespace {

TensorType infer_fft(const Types& in, const FftAttrs& attrs) {
  require_count(in, 1);
  const bool real_input = attrs.kind == FftKind::kRfft;
  TensorType result = in[0];
  const size_t rank = result.shape.size(), count = attrs.length.size();
  require(real_input ? in[0].dtype == DType::kF32 || in[0].dtype == DType::kF64
                     : is_complex(in[0].dtype),
          "{} cannot be transformed: RFFT takes f32 or f64, the others complex numbers", in[0]);
  require(count >= 1 && count <= 3 && count <= rank,
          "{} lengths for {}, expected 1 to 3 and no more than dimensions", count, in[0]);
  for (size_t i = 0; i < count; ++i) {
    const bool halved = attrs.kind == FftKind::kIrfft && i + 1 == count;
    const int64_t expected = halved ? attrs.length[i] / 2 + 1 : attrs.length[i];
    int64_t& size = result.shape[rank - count + i];
    require(size == expected || (halved && attrs.length[i] == 0 && size == 0),
            "length {} does not fit dimension {} of {}", attrs.length[i], rank - count + i, in[0]);
    size = attrs.length[i];
  }
  if (real_input) {
    int64_t& last = result.shape.back();
    last = last == 0 ? 0 : last / 2 + 1;
    return result.with_dtype(in[0].dtype == DType::kF32 ? DType::kC64 : DType::kC128);
  }
  return attrs.kind == FftKind::kIrfft ? result.with_dtype(real_type(in[0].dtype)) : result;
}

// The size of the square matrices in the innermost dimensions.
int64_t require_square(const TensorType& type) {
  const size_t rank = type.shape.size();
  require(rank >= 2 && type.shape[rank - 1] == type.shape[rank - 2],
          "{} does not hold square matrices", type);
  require(is_float(type.dtype) || is_complex(type.dtype),
          "expected floats or complex numbers, found {}", type);
  return type.shape.back();
}

}  // namespace

TensorType infer_linalg(OpCode code, const Types& in, const Attrs& attrs) {
  if (code == OpCode::kFft) return infer_fft(in, std::get<FftAttrs>(attrs));
  if (code == OpCode::kCholesky) {
    require_count(in, 1);
    require_square(in[0]);
    return in[0];
  }
  require_count(in, 2);
  const TensorType &a = in[0], &b = in[1];
  const int64_t size = require_square(a);
  const size_t rank = a.shape.size();
  require(
      a.dtype == b.dtype && b.shape.size() == rank &&
          std::equal(a.shape.begin(), a.shape.end() - 2, b.shape.begin()) &&
          b.shape[std::get<TriangularSolveAttrs>(attrs).left_side ? rank - 2 : rank - 1] == size,
      "{} does not fit {}", b, a);
  return b;
}

}  // namespace spmd::infer
