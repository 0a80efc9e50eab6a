// Opcodes that become ops which are rewritten after reading (ir/expand.h).
#include "frontends/hlo_proto/handlers.h"
#include "frontends/hlo_proto/replica_groups.h"

namespace spmd::hlo_proto {
namespace {

void plain_expanded(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, emitter.all_operands());
}

void batch_norm(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, emitter.all_operands(),
                 BatchNormAttrs{instruction.epsilon(), instruction.feature_index()});
}

void dimension(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.require(instruction, instruction.dimensions_size() == 1, "does not name one dimension");
  emitter.create(instruction, code, emitter.all_operands(),
                 DimensionAttrs{instruction.dimensions(0)});
}

void collective_broadcast(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, {emitter.operand(0)},
                 CollectiveBroadcastAttrs{groups_of(emitter.context(), instruction)});
}

void rng(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const bool normal = instruction.distribution() == hlo::RNG_NORMAL;
  emitter.require(instruction, normal || instruction.distribution() == hlo::RNG_UNIFORM,
                  "has an unknown distribution");
  emitter.create(instruction, code, emitter.all_operands(),
                 RngAttrs{normal ? RngDistribution::kNormal : RngDistribution::kUniform});
}

}  // namespace

std::span<const Handler> expanded_handlers() {
  static constexpr Handler kHandlers[] = {
      {"after-all", plain_expanded, OpCode::kAfterAll},
      {"batch-norm-grad", batch_norm, OpCode::kBatchNormGrad},
      {"batch-norm-inference", batch_norm, OpCode::kBatchNormInference},
      {"batch-norm-training", batch_norm, OpCode::kBatchNormTraining},
      {"collective-broadcast", collective_broadcast, OpCode::kCollectiveBroadcast},
      {"get-dimension-size", dimension, OpCode::kGetDimensionSize},
      {"replica-id", plain_expanded, OpCode::kReplicaId},
      {"rng", rng, OpCode::kRng},
      {"set-dimension-size", dimension, OpCode::kSetDimensionSize},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
