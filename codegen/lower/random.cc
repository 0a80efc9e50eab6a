#include "codegen/lower/lower.h"
#include "support/error.h"

namespace spmd::codegen {
namespace {

plan::RngBitGenerator::Algorithm algorithm(RngAlgorithm algorithm) {
  switch (algorithm) {
    case RngAlgorithm::kDefault:
      return plan::RngBitGenerator::DEFAULT;
    case RngAlgorithm::kThreeFry:
      return plan::RngBitGenerator::THREE_FRY;
    case RngAlgorithm::kPhilox:
      return plan::RngBitGenerator::PHILOX;
  }
  return plan::RngBitGenerator::DEFAULT;
}

}  // namespace

void lower_random(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  const auto& attrs = op.as<RngBitGeneratorAttrs>();
  const View state = emitter.stored(op.operands[0]);
  const bool fits =
      state.dtype == DType::kU64 && state.shape.size() == 1 &&
      (state.shape[0] == 2 || (state.shape[0] == 3 && attrs.algorithm != RngAlgorithm::kThreeFry));
  if (!fits)
    throw UserError(place_of(op),
                    fmt::format("the state of rng_bit_generator is {}",
                                to_string(emitter.fn().type(op.operands[0]))),
                    "expected tensor<2xui64>, or tensor<3xui64> for philox");
  if (!is_integer(emitter.fn().type(op.results[1]).dtype))
    throw UserError(
        place_of(op),
        fmt::format("rng_bit_generator gives {}", to_string(emitter.fn().type(op.results[1]))),
        "random bits are integers; bitcast_convert them");
  const View state_out = emitter.define(op.results[0]);
  const View out = emitter.define(op.results[1]);
  plan::RngBitGenerator& step = *emitter.add_step().mutable_rng_bit_generator();
  step.set_algorithm(algorithm(attrs.algorithm));
  *step.mutable_state() = to_plan(state, true);
  *step.mutable_state_out() = to_plan(state_out, true);
  *step.mutable_out() = to_plan(out, true);
}

}  // namespace spmd::codegen
