// Opcodes of the contraction family.
#include "frontends/hlo_proto/handlers.h"
#include "frontends/hlo_proto/precision.h"

namespace spmd::hlo_proto {
namespace {

void dot(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const hlo::DotDimensionNumbers& numbers = instruction.dot_dimension_numbers();
  DotAttrs attrs;
  const auto copy = [](const auto& from, Dims& to) { to.assign(from.begin(), from.end()); };
  copy(numbers.lhs_batch_dimensions(), attrs.lhs_batch);
  copy(numbers.rhs_batch_dimensions(), attrs.rhs_batch);
  copy(numbers.lhs_contracting_dimensions(), attrs.lhs_contracting);
  copy(numbers.rhs_contracting_dimensions(), attrs.rhs_contracting);
  attrs.precision = precision_of(instruction.precision_config());
  attrs.algorithm = algorithm_of(instruction.precision_config());
  emitter.create(instruction, code, {emitter.operand(0), emitter.operand(1)}, std::move(attrs));
}

}  // namespace

std::span<const Handler> contraction_handlers() {
  static constexpr Handler kHandlers[] = {
      {"dot", dot, OpCode::kDotGeneral},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
