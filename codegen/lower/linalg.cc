#include "codegen/lower/lower.h"
#include "support/error.h"

namespace spmd::codegen {
namespace {

static_assert(static_cast<int>(FftKind::kIrfft) == plan::Fft::IRFFT);
static_assert(static_cast<int>(TransposeKind::kAdjoint) == plan::TriangularSolve::ADJOINT);

void lower_fft(Emitter& emitter, const Op& op) {
  const auto& attrs = op.as<FftAttrs>();
  const View in = emitter.stored(op.operands[0]);
  const View out = emitter.define(op.results[0]);
  plan::Fft& step = *emitter.add_step().mutable_fft();
  step.set_kind(static_cast<plan::Fft::Kind>(attrs.kind));
  step.mutable_length()->Add(attrs.length.begin(), attrs.length.end());
  *step.mutable_in() = to_plan(in, true);
  *step.mutable_out() = to_plan(out, true);
}

void lower_cholesky(Emitter& emitter, const Op& op) {
  const View in = emitter.stored(op.operands[0]);
  const View out = emitter.define(op.results[0]);
  plan::Cholesky& step = *emitter.add_step().mutable_cholesky();
  step.set_lower(op.as<CholeskyAttrs>().lower);
  *step.mutable_in() = to_plan(in, true);
  *step.mutable_out() = to_plan(out, true);
}

void lower_triangular_solve(Emitter& emitter, const Op& op) {
  const auto& attrs = op.as<TriangularSolveAttrs>();
  const View a = emitter.stored(op.operands[0]);
  const View b = emitter.stored(op.operands[1]);
  const View out = emitter.define(op.results[0]);
  plan::TriangularSolve& step = *emitter.add_step().mutable_triangular_solve();
  step.set_left_side(attrs.left_side);
  step.set_lower(attrs.lower);
  step.set_unit_diagonal(attrs.unit_diagonal);
  step.set_transpose_a(static_cast<plan::TriangularSolve::Transpose>(attrs.transpose_a));
  *step.mutable_a() = to_plan(a, true);
  *step.mutable_b() = to_plan(b, true);
  *step.mutable_out() = to_plan(out, true);
}

}  // namespace

void lower_linalg(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  switch (op.code) {
    case OpCode::kFft:
      return lower_fft(emitter, op);
    case OpCode::kCholesky:
      return lower_cholesky(emitter, op);
    case OpCode::kTriangularSolve:
      return lower_triangular_solve(emitter, op);
    default:
      SPMD_UNREACHABLE("{} is no linear algebra", name_of(op.code));
  }
}

}  // namespace spmd::codegen
