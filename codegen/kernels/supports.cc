// Which scalar operations compiled kernels have: those that the CPU's vector loops have on real
// types of whole bytes.
#include <algorithm>

#include "codegen/kernels/lower.h"
#include "runtime/plan/dtype.h"

namespace spmd::codegen::kernels {
namespace {

// Ops whose operands and result share a type.
bool takes(plan::ScalarOp op, plan::DType dtype) {
  const bool is_float = plan::is_float(dtype), is_bool = dtype == plan::BOOL;
  switch (op) {
    case plan::ADD:
    case plan::MAXIMUM:
    case plan::MINIMUM:
    case plan::MULTIPLY:
    case plan::CLAMP:
      return true;
    case plan::AND:
    case plan::OR:
    case plan::XOR:
    case plan::NOT:
      return !is_float;
    case plan::ABS:
    case plan::DIVIDE:
    case plan::NEGATE:
    case plan::POWER:
    case plan::REMAINDER:
    case plan::SIGN:
    case plan::SUBTRACT:
      return !is_bool;
    case plan::COUNT_LEADING_ZEROS:
    case plan::POPULATION_COUNT:
    case plan::SHIFT_LEFT:
    case plan::SHIFT_RIGHT_ARITHMETIC:
    case plan::SHIFT_RIGHT_LOGICAL:
      return !is_float && !is_bool;
    case plan::ATAN2:
    case plan::CBRT:
    case plan::CEIL:
    case plan::COSINE:
    case plan::ERF:
    case plan::EXPONENTIAL:
    case plan::EXPONENTIAL_MINUS_ONE:
    case plan::FLOOR:
    case plan::LOG:
    case plan::LOG_PLUS_ONE:
    case plan::LOGISTIC:
    case plan::REDUCE_PRECISION:
    case plan::ROUND_NEAREST_AFZ:
    case plan::ROUND_NEAREST_EVEN:
    case plan::RSQRT:
    case plan::SINE:
    case plan::SQRT:
    case plan::TAN:
    case plan::TANH:
      return is_float;
    default:
      return false;
  }
}

}  // namespace

bool supports(plan::DType dtype) {
  switch (dtype) {
    case plan::BOOL:
    case plan::F16:
    case plan::BF16:
    case plan::F32:
    case plan::F64:
      return true;
    default:
      return plan::is_integer(dtype) && !plan::is_sub_byte_int(dtype);
  }
}

bool supports(const plan::Instruction& instruction, const std::vector<plan::DType>& args) {
  const plan::DType to = instruction.dtype();
  const auto is_compiled = [](plan::DType dtype) { return supports(dtype); };
  if (!supports(to) || !std::all_of(args.begin(), args.end(), is_compiled)) return false;
  switch (instruction.op()) {
    case plan::CONSTANT:
      return true;
    case plan::IOTA:
      return to != plan::BOOL;
    case plan::CONVERT:
      return args.size() == 1;
    case plan::NOP:
      return args.size() == 1 && args[0] == to;
    case plan::BITCAST_CONVERT:
      return args.size() == 1 && plan::byte_size(args[0]) == plan::byte_size(to);
    case plan::COMPARE:
      return args.size() == 2 && args[0] == args[1] && to == plan::BOOL;
    case plan::IS_FINITE:
      return args.size() == 1 && plan::is_float(args[0]) && to == plan::BOOL;
    case plan::SELECT:
      return args.size() == 3 && args[0] == plan::BOOL && args[1] == to && args[2] == to;
    default:
      return takes(instruction.op(), to) &&
             std::all_of(args.begin(), args.end(), [&](plan::DType arg) { return arg == to; });
  }
}

bool supports(const plan::ScalarProgram& program) {
  std::vector<plan::DType> registers;
  for (int input : program.inputs()) {
    registers.push_back(static_cast<plan::DType>(input));
    if (!supports(registers.back())) return false;
  }
  for (const plan::Instruction& instruction : program.instructions()) {
    std::vector<plan::DType> args;
    for (int32_t arg : instruction.args()) args.push_back(registers[static_cast<size_t>(arg)]);
    if (!supports(instruction, args)) return false;
    registers.push_back(instruction.dtype());
  }
  return true;
}

}  // namespace spmd::codegen::kernels
