#include "frontends/hlo_proto/manual_computation.h"

namespace spmd::hlo_proto {
namespace {

ValueId create_border(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.context().has_manual_borders = true;
  CustomCallAttrs attrs;
  attrs.target = instruction.custom_call_target();
  attrs.frontend_attributes = frontend_attributes(instruction);
  const OpId op = emitter.create(instruction, code, emitter.all_operands(), std::move(attrs));
  const ValueIds& results = emitter.function().op(op).results;
  return results.empty() ? ValueId::kNone : results[0];
}

void sdy_border(Emitter& emitter, const Instruction& instruction, OpCode code) {
  create_border(emitter, instruction, code);
}

// Its sharding says which axes are manual, which is of no interest elsewhere.
void spmd_border(Emitter& emitter, const Instruction& instruction, OpCode code) {
  ModuleContext& context = emitter.context();
  emitter.require(instruction, instruction.has_sharding(), "lacks its sharding");
  emitter.operand(0);
  const TensorType type = emitter.result_type(instruction);
  const ValueId result = create_border(emitter, instruction, code);
  const auto found =
      context.shardings.of(instruction.sharding(), {type}, context.place(instruction));
  if (!found.empty()) emitter.function().value(result).sharding = found.front();
}

}  // namespace

std::span<const Handler> manual_handlers() {
  static constexpr Handler kHandlers[] = {
      {"SPMDFullToShardShape", spmd_border, OpCode::kCustomCall},
      {"SPMDShardToFullShape", spmd_border, OpCode::kCustomCall},
      {"xla.sdy.GlobalToLocalShape", sdy_border, OpCode::kCustomCall},
      {"xla.sdy.LocalToGlobalShape", sdy_border, OpCode::kCustomCall},
  };
  return kHandlers;
}

FrontendAttributes frontend_attributes(const Instruction& instruction) {
  FrontendAttributes attributes;
  for (const auto& entry : instruction.frontend_attributes().map()) {
    attributes.emplace_back(entry.key(), entry.value());
  }
  return attributes;
}

}  // namespace spmd::hlo_proto
