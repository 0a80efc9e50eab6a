// Opcodes of the linalg family.
#include "frontends/hlo_proto/handlers.h"

namespace spmd::hlo_proto {
namespace {

void fft(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const int kind = instruction.fft_type();
  emitter.require(instruction, kind >= hlo::FFT && kind <= hlo::IRFFT, "is of an unknown kind");
  emitter.create(instruction, code, {emitter.operand(0)},
                 FftAttrs{static_cast<FftKind>(kind),
                          {instruction.fft_length().begin(), instruction.fft_length().end()}});
}

void cholesky(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, {emitter.operand(0)},
                 CholeskyAttrs{instruction.cholesky_options().lower()});
}

void triangular_solve(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const hlo::TriangularSolveOptions& options = instruction.triangular_solve_options();
  TriangularSolveAttrs attrs{options.left_side(), options.lower(), options.unit_diagonal()};
  switch (options.transpose_a()) {
    case hlo::TriangularSolveOptions::NO_TRANSPOSE:
      break;
    case hlo::TriangularSolveOptions::TRANSPOSE:
      attrs.transpose_a = TransposeKind::kTranspose;
      break;
    case hlo::TriangularSolveOptions::ADJOINT:
      attrs.transpose_a = TransposeKind::kAdjoint;
      break;
    default:
      emitter.fail(instruction, "does not say how its matrix is transposed");
  }
  emitter.create(instruction, code, {emitter.operand(0), emitter.operand(1)}, attrs);
}

}  // namespace

std::span<const Handler> linalg_handlers() {
  static constexpr Handler kHandlers[] = {
      {"cholesky", cholesky, OpCode::kCholesky},
      {"fft", fft, OpCode::kFft},
      {"triangular-solve", triangular_solve, OpCode::kTriangularSolve},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
