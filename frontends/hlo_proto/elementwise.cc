// Opcodes of the elementwise family, and map.
#include "frontends/hlo_proto/handlers.h"
#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

void plain(Emitter& emitter, const Instruction& instruction, OpCode code) {
  std::vector<ValueId> operands;
  for (int i = 0; i < instruction.operand_ids_size(); ++i) operands.push_back(emitter.operand(i));
  emitter.create(instruction, code, std::move(operands));
}

CompareDirection direction_of(Emitter& emitter, const Instruction& instruction) {
  const std::string& text = instruction.comparison_direction();
  if (text == "EQ") return CompareDirection::kEq;
  if (text == "NE") return CompareDirection::kNe;
  if (text == "LT") return CompareDirection::kLt;
  if (text == "LE") return CompareDirection::kLe;
  if (text == "GT") return CompareDirection::kGt;
  if (text == "GE") return CompareDirection::kGe;
  emitter.fail(instruction, fmt::format("\"{}\" is no direction of comparison", text));
}

CompareType compare_type_of(Emitter& emitter, const Instruction& instruction) {
  const std::string& text = instruction.comparison_type();
  if (text.empty()) return CompareType::kNone;
  if (text == "FLOAT") return CompareType::kFloat;
  if (text == "TOTALORDER") return CompareType::kTotalOrder;
  if (text == "SIGNED") return CompareType::kSigned;
  if (text == "UNSIGNED") return CompareType::kUnsigned;
  emitter.fail(instruction, fmt::format("\"{}\" is no type of comparison", text));
}

void compare(Emitter& emitter, const Instruction& instruction, OpCode code) {
  CompareAttrs attrs;
  attrs.direction = direction_of(emitter, instruction);
  attrs.type = compare_type_of(emitter, instruction);
  emitter.create(instruction, code, {emitter.operand(0), emitter.operand(1)}, attrs);
}

void reduce_precision(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, {emitter.operand(0)},
                 ReducePrecisionAttrs{instruction.exponent_bits(), instruction.mantissa_bits()});
}

// Applies a computation on scalars to every element: emitted on whole tensors. Its constants
// become splats, so nothing but elementwise ops makes sense in it.
void map(Emitter& emitter, const Instruction& instruction, OpCode) {
  const Computation& body =
      emitter.context().computations.called(emitter.computation(), instruction, 0);
  for (const Instruction& inner : body.proto->instructions()) {
    const Handler* handler = find_handler(inner.opcode());
    const bool elementwise =
        handler != nullptr &&
        (handler->emit == plain || handler->emit == compare || handler->emit == reduce_precision);
    if (elementwise || inner.opcode() == "parameter" || inner.opcode() == "constant") continue;
    emitter.fail(
        instruction,
        fmt::format("its computation contains {}, which map does not support", inner.opcode()),
        "use elementwise ops on whole tensors instead of map");
  }
  const std::optional<Dims> outer = emitter.map_shape;
  emitter.map_shape = emitter.result_type(instruction).shape;
  emitter.define(emitter.emit_inline(body, emitter.all_operands()));
  emitter.map_shape = outer;
}

}  // namespace

std::span<const Handler> elementwise_handlers() {
  static constexpr Handler kHandlers[] = {
      {"abs", plain, OpCode::kAbs},
      {"acos", plain, OpCode::kAcos},
      {"acosh", plain, OpCode::kAcosh},
      {"add", plain, OpCode::kAdd},
      {"and", plain, OpCode::kAnd},
      {"asin", plain, OpCode::kAsin},
      {"asinh", plain, OpCode::kAsinh},
      {"atan2", plain, OpCode::kAtan2},
      {"atanh", plain, OpCode::kAtanh},
      {"cbrt", plain, OpCode::kCbrt},
      {"ceil", plain, OpCode::kCeil},
      {"clamp", plain, OpCode::kClamp},
      {"compare", compare, OpCode::kCompare},
      {"complex", plain, OpCode::kComplex},
      {"convert", plain, OpCode::kConvert},
      {"cosh", plain, OpCode::kCosh},
      {"cosine", plain, OpCode::kCosine},
      {"count-leading-zeros", plain, OpCode::kCountLeadingZeros},
      {"divide", plain, OpCode::kDivide},
      {"erf", plain, OpCode::kErf},
      {"exponential", plain, OpCode::kExponential},
      {"exponential-minus-one", plain, OpCode::kExponentialMinusOne},
      {"floor", plain, OpCode::kFloor},
      {"imag", plain, OpCode::kImag},
      {"is-finite", plain, OpCode::kIsFinite},
      {"log", plain, OpCode::kLog},
      {"log-plus-one", plain, OpCode::kLogPlusOne},
      {"logistic", plain, OpCode::kLogistic},
      {"map", map},
      {"maximum", plain, OpCode::kMaximum},
      {"minimum", plain, OpCode::kMinimum},
      {"multiply", plain, OpCode::kMultiply},
      {"negate", plain, OpCode::kNegate},
      {"not", plain, OpCode::kNot},
      {"or", plain, OpCode::kOr},
      {"popcnt", plain, OpCode::kPopulationCount},
      {"power", plain, OpCode::kPower},
      {"real", plain, OpCode::kReal},
      {"reduce-precision", reduce_precision, OpCode::kReducePrecision},
      {"remainder", plain, OpCode::kRemainder},
      {"round-nearest-afz", plain, OpCode::kRoundNearestAfz},
      {"round-nearest-even", plain, OpCode::kRoundNearestEven},
      {"rsqrt", plain, OpCode::kRsqrt},
      {"select", plain, OpCode::kSelect},
      {"shift-left", plain, OpCode::kShiftLeft},
      {"shift-right-arithmetic", plain, OpCode::kShiftRightArithmetic},
      {"shift-right-logical", plain, OpCode::kShiftRightLogical},
      {"sign", plain, OpCode::kSign},
      {"sine", plain, OpCode::kSine},
      {"sinh", plain, OpCode::kSinh},
      {"sqrt", plain, OpCode::kSqrt},
      {"subtract", plain, OpCode::kSubtract},
      {"tan", plain, OpCode::kTan},
      {"tanh", plain, OpCode::kTanh},
      {"xor", plain, OpCode::kXor},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
