#include "runtime/plan/reducer.h"

#include <cstring>

#include "runtime/plan/dtype.h"
#include "support/error.h"
#include "support/float_formats.h"

namespace spmd::plan {
namespace {

DType accumulation(DType dtype) { return is_narrow_float(dtype) ? F32 : dtype; }

float widened(DType dtype, const std::string& constant) {
  if (dtype == F16 || dtype == BF16) {
    uint16_t bits = 0;
    std::memcpy(&bits, constant.data(), sizeof bits);
    return dtype == F16 ? f16_to_float(bits) : bf16_to_float(bits);
  }
  switch (dtype) {
#define SPMD_WIDEN(Type, name) \
  case Type:                   \
    return name##_to_float(static_cast<uint8_t>(constant[0]));
    SPMD_BYTE_FLOATS(SPMD_WIDEN)
#undef SPMD_WIDEN
    default:
      SPMD_UNREACHABLE("{} is no narrow float", dtype_name(dtype));
  }
}

void separate_outputs(ScalarProgram& program) {
  for (int o = 0; o < program.outputs_size(); ++o) {
    const int32_t reg = program.outputs(o);
    if (reg >= program.outputs_size() || reg == o) continue;
    Instruction* copy = program.add_instructions();
    copy->set_op(NOP);
    copy->set_dtype(program.inputs(reg));
    copy->add_args(reg);
    program.set_outputs(o, program.inputs_size() + program.instructions_size() - 1);
  }
}

}  // namespace

ScalarProgram reducer_program(ScalarOp op, const ScalarProgram& program, DType dtype) {
  if (op == NOP) return program;
  ScalarProgram result;
  result.add_inputs(dtype);
  result.add_inputs(dtype);
  Instruction* instruction = result.add_instructions();
  instruction->set_op(op);
  instruction->set_dtype(dtype);
  instruction->add_args(0);
  instruction->add_args(1);
  result.add_outputs(2);
  return result;
}

ScalarProgram accumulating_program(ScalarOp op, const ScalarProgram& program, DType dtype) {
  ScalarProgram result = reducer_program(op, program, dtype);
  for (int i = 0; i < result.inputs_size(); ++i)
    result.set_inputs(i, accumulation(result.inputs(i)));
  for (Instruction& instruction : *result.mutable_instructions()) {
    if (!is_narrow_float(instruction.dtype())) continue;
    if (instruction.op() == CONSTANT) {
      const float value = widened(instruction.dtype(), instruction.constant());
      instruction.set_constant(&value, sizeof value);
    }
    instruction.set_dtype(F32);
  }
  separate_outputs(result);
  return result;
}

}  // namespace spmd::plan
