#include "frontends/hlo_proto/manual_computation.h"

#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

constexpr const char* kGlobalToLocal = "xla.sdy.GlobalToLocalShape";
constexpr const char* kLocalToGlobal = "xla.sdy.LocalToGlobalShape";
constexpr const char* kBodyPrefix = "xla.sdy.manual_computation_body";

// An element of an instruction's value; of a value that is no tuple, the element 0.
struct Element {
  int number = 0;
  int64_t index = 0;
};

Element element_of(Emitter& emitter, int number) {
  const Instruction& instruction = emitter.computation().instruction(number);
  if (instruction.opcode() != "get-tuple-element") return {number, 0};
  return {emitter.context().computations.operand(emitter.computation(), number, 0),
          instruction.tuple_index()};
}

std::vector<Element> operand_elements(Emitter& emitter, int number) {
  std::vector<Element> elements;
  const int count = emitter.computation().instruction(number).operand_ids_size();
  for (int i = 0; i < count; ++i) {
    elements.push_back(element_of(
        emitter, emitter.context().computations.operand(emitter.computation(), number, i)));
  }
  return elements;
}

bool is_global_to_local(const Instruction& instruction) {
  return instruction.opcode() == "custom-call" &&
         instruction.custom_call_target() == kGlobalToLocal;
}

// Shardings that a border or the body's call has in an attribute.
std::vector<ShardingRef> shardings_at(Emitter& emitter, const Instruction& border,
                                      const Instruction& call, const char* key) {
  const std::string* text = find_attribute(border.frontend_attributes(), key);
  if (text == nullptr) text = find_attribute(call.frontend_attributes(), key);
  if (text == nullptr) emitter.fail(border, fmt::format("lacks its attribute {}", key));
  return emitter.context().shardings.parse(*text, emitter.context().place(border));
}

// One per operand of the call, each an element of what a GlobalToLocalShape gives.
std::vector<Sharding> in_shardings(Emitter& emitter, int call_number) {
  const Instruction& call = emitter.computation().instruction(call_number);
  std::vector<Sharding> result;
  for (const Element& element : operand_elements(emitter, call_number)) {
    const Instruction& border = emitter.computation().instruction(element.number);
    if (!is_global_to_local(border)) {
      emitter.fail(call, "the body of a manual computation has an operand of global shape");
    }
    const auto shardings = shardings_at(emitter, border, call, "xla.sdy.in_shardings");
    if (element.index < 0 || element.index >= static_cast<int64_t>(shardings.size())) {
      emitter.fail(border, fmt::format("has {} shardings, expected more", shardings.size()));
    }
    result.push_back(*shardings[static_cast<size_t>(element.index)]);
  }
  return result;
}

std::vector<Sharding> out_shardings(Emitter& emitter, const Instruction& border,
                                    const Instruction& call, size_t count) {
  std::vector<Sharding> result;
  for (const auto& sharding : shardings_at(emitter, border, call, "xla.sdy.out_shardings")) {
    result.push_back(*sharding);
  }
  if (result.size() != count) {
    emitter.fail(border, fmt::format("has {} shardings for {} results", result.size(), count));
  }
  return result;
}

AxisList manual_axes(Emitter& emitter, const Instruction& border, const Instruction& call) {
  for (const Instruction* place : {&border, &call}) {
    const auto* text = find_attribute(place->frontend_attributes(), "xla.sdy.manual_axes");
    if (text == nullptr) continue;
    return emitter.context().shardings.parse_manual_axes(*text, emitter.context().place(border));
  }
  emitter.fail(border, "does not say which mesh axes are manual");
}

// The region's body, its results in the order in which the border takes them from the call.
void emit_body(Emitter& emitter, OpId op, const Computation& body,
               const std::vector<Element>& taken) {
  Function& fn = emitter.function();
  const BlockId block = fn.add_region(op);
  const std::vector<ValueId> arguments = emitter.add_arguments(block, body);
  const std::vector<ValueId> results = emitter.run_nested(body, block, arguments);
  std::vector<ValueId> returned;
  for (const Element& element : taken) {
    if (element.index < 0 || element.index >= static_cast<int64_t>(results.size())) {
      emitter.fail(emitter.computation().instruction(element.number),
                   fmt::format("gives {} results, expected more", results.size()));
    }
    returned.push_back(results[static_cast<size_t>(element.index)]);
  }
  Builder inner(fn, block);
  inner.location = emitter.builder().location;
  inner.return_op(std::move(returned));
}

// Passes the global values on: the body's call, reached through get-tuple-element, then has them as
// operands.
void global_to_local(Emitter& emitter, const Instruction&, OpCode) {
  emitter.define(emitter.all_operands());
}

void local_to_global(Emitter& emitter, const Instruction& border, OpCode code) {
  const std::vector<Element> taken = operand_elements(emitter, emitter.current());
  if (taken.empty()) return emitter.define({});
  const int call_number = taken.front().number;
  const Instruction& call = emitter.computation().instruction(call_number);
  for (const Element& element : taken) {
    const bool is_call = element.number == call_number && call.opcode() == "call";
    emitter.require(border, is_call, "does not take its operands from the body of one region");
  }
  const Computation& body = emitter.context().computations.called(emitter.computation(), call, 0);

  std::vector<ValueId> operands;
  for (int i = 0; i < call.operand_ids_size(); ++i) {
    const int operand =
        emitter.context().computations.operand(emitter.computation(), call_number, i);
    for (ValueId leaf : emitter.leaves_of(operand)) operands.push_back(leaf);
  }
  ManualComputationAttrs attrs;
  attrs.in_shardings = in_shardings(emitter, call_number);
  attrs.out_shardings = out_shardings(emitter, border, call, taken.size());
  attrs.manual_axes = manual_axes(emitter, border, call);
  const OpId op = emitter.create(border, code, std::move(operands), std::move(attrs));
  emit_body(emitter, op, body, taken);
}

// GSPMD's form: raise_manual_regions() turns it into regions once the module is complete.
void spmd_border(Emitter& emitter, const Instruction& instruction, OpCode code) {
  ModuleContext& context = emitter.context();
  emitter.require(instruction, instruction.has_sharding(), "lacks its sharding");
  CustomCallAttrs attrs;
  attrs.target = instruction.custom_call_target();
  const TensorType type = emitter.result_type(instruction);
  const OpId op = emitter.builder().create(code, {emitter.operand(0)}, {type}, std::move(attrs));
  const ValueId result = emitter.function().op(op).results[0];
  emitter.define({result});
  const auto found =
      context.shardings.of(instruction.sharding(), {type}, context.place(instruction));
  if (!found.empty()) emitter.function().value(result).sharding = found.front();
  context.has_spmd_borders = true;
}

}  // namespace

std::span<const Handler> manual_handlers() {
  static constexpr Handler kHandlers[] = {
      {"SPMDFullToShardShape", spmd_border, OpCode::kCustomCall},
      {"SPMDShardToFullShape", spmd_border, OpCode::kCustomCall},
      {kGlobalToLocal, global_to_local},
      {kLocalToGlobal, local_to_global, OpCode::kManualComputation},
  };
  return kHandlers;
}

bool is_manual_body(Emitter& emitter, const Instruction& call) {
  if (call.operand_ids_size() == 0) {
    return emitter.context()
        .computations.called(emitter.computation(), call, 0)
        .proto->name()
        .starts_with(kBodyPrefix);
  }
  const Element first = element_of(emitter, emitter.operand_number(0));
  return is_global_to_local(emitter.computation().instruction(first.number));
}

}  // namespace spmd::hlo_proto
