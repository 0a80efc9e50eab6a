// Opcodes of the random family.
#include "frontends/hlo_proto/handlers.h"

namespace spmd::hlo_proto {
namespace {

RngAlgorithm algorithm_of(hlo::RandomAlgorithm algorithm) {
  switch (algorithm) {
    case hlo::RNG_THREE_FRY:
      return RngAlgorithm::kThreeFry;
    case hlo::RNG_PHILOX:
      return RngAlgorithm::kPhilox;
    default:
      return RngAlgorithm::kDefault;
  }
}

void rng_bit_generator(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, {emitter.operand(0)},
                 RngBitGeneratorAttrs{algorithm_of(instruction.rng_algorithm())});
}

}  // namespace

std::span<const Handler> random_handlers() {
  static constexpr Handler kHandlers[] = {
      {"rng-bit-generator", rng_bit_generator, OpCode::kRngBitGenerator},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
