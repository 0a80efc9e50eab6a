// Opcodes of the shape family.
#include "frontends/hlo_proto/handlers.h"
#include "frontends/hlo_proto/literals.h"
#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

Dims dims_of(const Instruction& instruction) {
  return Dims(instruction.dimensions().begin(), instruction.dimensions().end());
}

void plain_shape(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, {emitter.operand(0)});
}

// Exporters put reshapes that change nothing where they pin layouts and shardings of results.
void reshape(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const ValueId operand = emitter.operand(0);
  if (emitter.result_type(instruction) == emitter.type(operand)) {
    emitter.define({operand});
    return;
  }
  emitter.create(instruction, code, {operand});
}

void copy(Emitter& emitter, const Instruction& instruction, OpCode) {
  emitter.define(emitter.operand_leaves(0));
}

void broadcast(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, {emitter.operand(0)},
                 BroadcastInDimAttrs{dims_of(instruction)});
}

void concatenate(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, emitter.all_operands(),
                 ConcatenateAttrs{emitter.single_dim(instruction)});
}

void constant(Emitter& emitter, const Instruction& instruction, OpCode code) {
  Literal literal = literal_from(instruction.literal(), emitter.context().place(instruction));
  if (emitter.map_shape && literal.type().rank() == 0) {
    literal = Literal::splat(literal.type().with_shape(*emitter.map_shape),
                             static_cast<const void*>(literal.data()));
  }
  emitter.create(instruction, code, {}, ConstantAttrs{std::move(literal)});
}

void iota(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, {}, IotaAttrs{emitter.single_dim(instruction)});
}

void pad(Emitter& emitter, const Instruction& instruction, OpCode code) {
  PadAttrs attrs;
  for (const auto& dim : instruction.padding_config().dimensions()) {
    attrs.low.push_back(dim.edge_padding_low());
    attrs.high.push_back(dim.edge_padding_high());
    attrs.interior.push_back(dim.interior_padding());
  }
  emitter.create(instruction, code, {emitter.operand(0), emitter.operand(1)}, std::move(attrs));
}

void reverse(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, {emitter.operand(0)}, ReverseAttrs{dims_of(instruction)});
}

void slice(Emitter& emitter, const Instruction& instruction, OpCode code) {
  SliceAttrs attrs;
  for (const auto& dim : instruction.slice_dimensions()) {
    attrs.start.push_back(dim.start());
    attrs.limit.push_back(dim.limit());
    attrs.stride.push_back(dim.stride() == 0 ? 1 : dim.stride());
  }
  emitter.create(instruction, code, {emitter.operand(0)}, std::move(attrs));
}

void transpose(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, {emitter.operand(0)}, TransposeAttrs{dims_of(instruction)});
}

}  // namespace

std::span<const Handler> shape_handlers() {
  static constexpr Handler kHandlers[] = {
      {"bitcast-convert", plain_shape, OpCode::kBitcastConvert},
      {"broadcast", broadcast, OpCode::kBroadcastInDim},
      {"concatenate", concatenate, OpCode::kConcatenate},
      {"constant", constant, OpCode::kConstant},
      {"copy", copy},
      {"iota", iota, OpCode::kIota},
      {"pad", pad, OpCode::kPad},
      {"reshape", reshape, OpCode::kReshape},
      {"reverse", reverse, OpCode::kReverse},
      {"slice", slice, OpCode::kSlice},
      {"transpose", transpose, OpCode::kTranspose},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
