#include "runtime/device/cpu/reducer.h"

#include "runtime/device/cpu/tile_io.h"

namespace spmd::cpu {
namespace {

plan::DType accumulation(plan::DType dtype) {
  return plan::is_narrow_float(dtype) ? plan::F32 : dtype;
}

void separate_outputs(plan::ScalarProgram& program) {
  for (int o = 0; o < program.outputs_size(); ++o) {
    const int32_t reg = program.outputs(o);
    if (reg >= program.outputs_size() || reg == o) continue;
    plan::Instruction* copy = program.add_instructions();
    copy->set_op(plan::NOP);
    copy->set_dtype(program.inputs(reg));
    copy->add_args(reg);
    program.set_outputs(o, program.inputs_size() + program.instructions_size() - 1);
  }
}

}  // namespace

plan::ScalarProgram reducer_program(plan::ScalarOp op, const plan::ScalarProgram& program,
                                    plan::DType dtype) {
  if (op == plan::NOP) return program;
  plan::ScalarProgram result;
  result.add_inputs(dtype);
  result.add_inputs(dtype);
  plan::Instruction* instruction = result.add_instructions();
  instruction->set_op(op);
  instruction->set_dtype(dtype);
  instruction->add_args(0);
  instruction->add_args(1);
  result.add_outputs(2);
  return result;
}

plan::ScalarProgram accumulating_program(plan::ScalarOp op, const plan::ScalarProgram& program,
                                         plan::DType dtype) {
  plan::ScalarProgram result = reducer_program(op, program, dtype);
  for (int i = 0; i < result.inputs_size(); ++i)
    result.set_inputs(i, accumulation(result.inputs(i)));
  for (plan::Instruction& instruction : *result.mutable_instructions()) {
    if (!plan::is_narrow_float(instruction.dtype())) continue;
    if (instruction.op() == plan::CONSTANT) {
      float value = 0;
      load_element(instruction.dtype(),
                   reinterpret_cast<const std::byte*>(instruction.constant().data()), &value);
      instruction.set_constant(&value, sizeof value);
    }
    instruction.set_dtype(plan::F32);
  }
  separate_outputs(result);
  return result;
}

}  // namespace spmd::cpu
