#include "runtime/plan/dtype.h"
#include "runtime/plan/verifier.h"

namespace spmd::plan {

void Verifier::fft(const Fft& step) {
  Shape in = view(step.in());
  const Shape out = view(step.out());
  const auto count = static_cast<size_t>(step.length_size());
  expect(count >= 1 && count <= 3 && count <= in.size(), "transforms no, or too many, dimensions");
  const bool real_in = step.kind() == Fft::RFFT, real_out = step.kind() == Fft::IRFFT;
  const auto is_real = [](DType dtype) { return dtype == F32 || dtype == F64; };
  expect((real_in ? is_real(step.in().dtype()) : is_complex(step.in().dtype())) &&
             (real_out ? is_real(step.out().dtype()) : is_complex(step.out().dtype())),
         "real and complex numbers do not fit the kind of transform");
  for (size_t i = 0; i < count; ++i) {
    const int64_t length = step.length(static_cast<int>(i));
    int64_t& size = in[in.size() - count + i];
    const bool halved = real_out && i + 1 == count;
    expect(length >= 0 && size == (halved ? length / 2 + 1 : length) && (!halved || length > 0),
           "a length is not the dimension's");
    size = length;
  }
  if (real_in) in.back() = in.back() == 0 ? 0 : in.back() / 2 + 1;
  expect(in == out, "the result's shape does not fit");
}

void Verifier::cholesky(const Cholesky& step) {
  const Shape in = view(step.in());
  expect(in.size() >= 2 && in[in.size() - 1] == in[in.size() - 2], "the matrices are not square");
  expect(view(step.out()) == in && step.out().dtype() == step.in().dtype(),
         "the result's type does not fit");
  expect(is_float(step.in().dtype()) || is_complex(step.in().dtype()),
         "decomposes neither floats nor complex numbers");
}

void Verifier::triangular_solve(const TriangularSolve& step) {
  const Shape a = view(step.a()), b = view(step.b());
  const size_t rank = a.size();
  expect(rank >= 2 && b.size() == rank && a[rank - 1] == a[rank - 2],
         "the matrices are not square");
  for (size_t d = 0; d + 2 < rank; ++d) expect(a[d] == b[d], "batches differ");
  expect(b[step.left_side() ? rank - 2 : rank - 1] == a[rank - 1], "matrices do not fit");
  expect(view(step.out()) == b && step.out().dtype() == step.b().dtype() &&
             step.a().dtype() == step.b().dtype(),
         "types differ");
  expect(is_float(step.a().dtype()) || is_complex(step.a().dtype()),
         "solves for neither floats nor complex numbers");
  expect(step.transpose_a() == TriangularSolve::NONE ||
             step.transpose_a() == TriangularSolve::TRANSPOSE ||
             step.transpose_a() == TriangularSolve::ADJOINT,
         "an unknown way to transpose");
}

}  // namespace spmd::plan
