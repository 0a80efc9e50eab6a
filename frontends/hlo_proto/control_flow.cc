// Opcodes of the control flow family, and the tuples that HLO needs for it.
#include "frontends/hlo_proto/handlers.h"
#include "frontends/hlo_proto/manual_computation.h"
#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

void tuple(Emitter& emitter, const Instruction&, OpCode) { emitter.define(emitter.all_operands()); }

// The leaves of an element are a part of the operand's: nothing is copied.
void get_tuple_element(Emitter& emitter, const Instruction& instruction, OpCode) {
  const int operand = emitter.operand_number(0);
  const ValueTable::Range whole = emitter.table().range(operand);
  const hlo::ShapeProto& shape = emitter.computation().instruction(operand).shape();
  const int64_t index = instruction.tuple_index();
  if (index < 0 || index >= shape.tuple_shapes_size()) {
    emitter.fail(instruction, fmt::format("takes element {} of a tuple of {}", index,
                                          shape.tuple_shapes_size()));
  }
  const LeafRange leaves = emitter.context().element_leaves(shape, static_cast<int>(index));
  emitter.require(instruction, leaves.first + leaves.count <= whole.count,
                  "takes an element that its operand does not have");
  emitter.table().set_range(emitter.current(), {whole.first + static_cast<uint32_t>(leaves.first),
                                                static_cast<uint32_t>(leaves.count)});
}

void call(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const Computation& callee =
      emitter.context().computations.called(emitter.computation(), instruction, 0);
  const OpId op = emitter.create(instruction, code, emitter.all_operands(),
                                 CallAttrs{emitter.context().function_of(callee)});
  keep_manual_attributes(emitter.function(), op, frontend_attributes(instruction));
}

// Names its body before its condition.
void while_loop(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const Computations& computations = emitter.context().computations;
  const Computation& body = computations.called(emitter.computation(), instruction, 0);
  const Computation& condition = computations.called(emitter.computation(), instruction, 1);
  const OpId op = emitter.create(instruction, code, emitter.all_operands());
  emitter.add_region(op, condition);
  emitter.add_region(op, body);
}

// Operands: what chooses, then one argument (perhaps a tuple) per branch.
void conditional(Emitter& emitter, const Instruction& instruction, OpCode) {
  const ValueId chooser = emitter.operand(0);
  const int branches = instruction.called_computation_ids_size();
  emitter.require(instruction, instruction.operand_ids_size() == branches + 1,
                  "has not one operand per branch");
  const bool is_if = emitter.type(chooser).dtype == DType::kBool;
  emitter.require(instruction, !is_if || branches == 2, "has not two branches");
  const OpId op = emitter.create(instruction, is_if ? OpCode::kIf : OpCode::kCase, {chooser});
  for (int i = 0; i < branches; ++i) {
    emitter.add_closed_region(
        op, emitter.context().computations.called(emitter.computation(), instruction, i),
        emitter.operand_leaves(i + 1));
  }
}

void optimization_barrier(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, emitter.all_operands());
}

void custom_call(Emitter& emitter, const Instruction& instruction, OpCode) {
  const Handler* handler = find_custom_call(instruction.custom_call_target());
  SPMD_CHECK(handler != nullptr, "{} passed check_supported", instruction.custom_call_target());
  handler->emit(emitter, instruction, handler->code);
}

// Emitter::run binds parameters.
void parameter(Emitter&, const Instruction&, OpCode) {
  SPMD_UNREACHABLE("a parameter is not emitted");
}

}  // namespace

std::span<const Handler> control_flow_handlers() {
  static constexpr Handler kHandlers[] = {
      {"call", call, OpCode::kCall},
      {"conditional", conditional},
      {"custom-call", custom_call},
      {"get-tuple-element", get_tuple_element},
      {"opt-barrier", optimization_barrier, OpCode::kOptimizationBarrier},
      {"parameter", parameter},
      {"tuple", tuple},
      {"while", while_loop, OpCode::kWhile},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
