// What the CPU's kernels do to bytes only, for elements of four bits, each of which is stored in a
// byte of its own.
#include "passes/rewrite/patterns.h"

namespace spmd {
namespace {

bool has_four_bits(DType dtype) { return bit_width(dtype) == 4; }

// The four bits as a number from 0 to 15.
ValueId nibble(Builder& b, ValueId x) {
  const TensorType byte = b.function().type(x).with_dtype(DType::kU8);
  return b.binary(OpCode::kAnd, b.convert(x, DType::kU8), b.splat(byte, 15));
}

ValueId bitcast(Builder& b, ValueId x, TensorType to) {
  const TensorType from = b.function().type(x);
  if (from == to) return x;
  // Bytes hold the sign too: between types of four bits, the same bits are other bytes.
  if (has_four_bits(from.dtype) && has_four_bits(to.dtype)) return b.convert(x, to.dtype);
  return b.function().op(b.create(OpCode::kBitcastConvert, {x}, {std::move(to)})).results[0];
}

bool count_in_byte(Rewriter& rw, OpId id) {
  const ValueId x = rw.op(id).operands[0];
  const TensorType type = rw.type(x);
  if (!has_four_bits(type.dtype)) return false;
  Builder b = rw.before(id);
  ValueId count = b.value(rw.op(id).code, {nibble(b, x)});
  if (rw.op(id).code == OpCode::kCountLeadingZeros) {
    count = b.binary(OpCode::kSubtract, count, b.splat(type.with_dtype(DType::kU8), 4));
  }
  return rw.replace(id, b.convert(count, type.dtype));
}

// Shifts by four bits and more give what shifting the byte and dropping its upper half gives.
bool shift_in_byte(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const TensorType type = rw.type(op.operands[0]);
  if (!has_four_bits(type.dtype)) return false;
  const OpCode code = op.code;
  const ValueId x = op.operands[0], amount = op.operands[1];
  Builder b = rw.before(id);
  ValueId shifted;
  if (code == OpCode::kShiftRightArithmetic) {
    // The sign is the fourth bit, also of unsigned elements.
    const ValueId signed_x = bitcast(b, x, type.with_dtype(DType::kS4));
    const ValueId places = b.convert(nibble(b, amount), DType::kS8);
    shifted = b.binary(code, b.convert(signed_x, DType::kS8), places);
    return rw.replace(id, bitcast(b, b.convert(shifted, DType::kS4), type));
  }
  shifted = b.binary(code, nibble(b, x), nibble(b, amount));
  return rw.replace(id, b.convert(shifted, type.dtype));
}

// An element becomes a dimension of its halves of bytes, the lower one first.
ValueId split_to_four_bits(Builder& b, ValueId x, const TensorType& to) {
  const TensorType from = b.function().type(x);
  const int64_t bytes = bit_width(from.dtype) / 8;
  TensorType byte = from.with_dtype(DType::kU8);
  if (bytes > 1) byte.shape.push_back(bytes);
  x = bitcast(b, x, byte);
  const ValueId low = b.binary(OpCode::kAnd, x, b.splat(byte, 15));
  const ValueId high = b.binary(OpCode::kShiftRightLogical, x, b.splat(byte, 4));
  Dims half = byte.shape;
  half.push_back(1);
  const ValueId halves =
      b.value(OpCode::kConcatenate, {b.reshape(low, half), b.reshape(high, half)},
              ConcatenateAttrs{static_cast<int64_t>(half.size()) - 1});
  const ValueId nibbles = b.convert(b.reshape(halves, to.shape), DType::kU4);
  return bitcast(b, nibbles, to);
}

ValueId join_four_bits(Builder& b, ValueId x, const TensorType& to) {
  const int64_t bytes = bit_width(to.dtype) / 8;
  Dims halves = to.shape;
  if (bytes > 1) halves.push_back(bytes);
  TensorType byte{DType::kU8, halves};
  halves.push_back(2);
  x = b.reshape(nibble(b, x), halves);
  const auto half = [&](int64_t which) {
    Dims start(halves.size(), 0), limit = halves;
    start.back() = which;
    limit.back() = which + 1;
    return b.reshape(b.slice(x, start, limit), byte.shape);
  };
  const ValueId high = b.binary(OpCode::kShiftLeft, half(1), b.splat(byte, 4));
  return bitcast(b, b.binary(OpCode::kOr, half(0), high), to);
}

bool bitcast_by_bytes(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const TensorType from = rw.type(op.operands[0]), to = rw.type(op.results[0]);
  Builder b = rw.before(id);
  if (has_four_bits(from.dtype) == has_four_bits(to.dtype)) {
    return has_four_bits(to.dtype) && rw.replace(id, bitcast(b, op.operands[0], to));
  }
  return rw.replace(id, has_four_bits(to.dtype) ? split_to_four_bits(b, op.operands[0], to)
                                                : join_four_bits(b, op.operands[0], to));
}

}  // namespace

void add_four_bit_patterns(PatternSet& patterns) {
  for (OpCode code : {OpCode::kPopulationCount, OpCode::kCountLeadingZeros}) {
    patterns.add(code, count_in_byte);
  }
  for (OpCode code :
       {OpCode::kShiftLeft, OpCode::kShiftRightLogical, OpCode::kShiftRightArithmetic}) {
    patterns.add(code, shift_in_byte);
  }
  patterns.add(OpCode::kBitcastConvert, bitcast_by_bytes);
}

}  // namespace spmd
