// Elementwise ops of CHLO that are a few ops of StableHLO.
#include <limits>

#include "ir/expand/expansion.h"
#include "support/error.h"
#include "support/float_formats.h"

namespace spmd::expand {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ValueId is_infinite(Expansion& e) {
  const ValueId x = e.operand(0);
  e.require(is_float(e.type(x).dtype), "expected floats");
  switch (e.op().code) {
    case OpCode::kIsInf: {
      const ValueId magnitude = e.unary(OpCode::kAbs, x);
      return e.b.compare(CompareDirection::kEq, magnitude, e.like(x, kInfinity));
    }
    case OpCode::kIsPosInf:
      return e.b.compare(CompareDirection::kEq, x, e.like(x, kInfinity));
    default:
      return e.b.compare(CompareDirection::kEq, x, e.like(x, -kInfinity));
  }
}

ValueId conjugate(Expansion& e) {
  const ValueId x = e.operand(0);
  if (!is_complex(e.type(x).dtype)) return x;
  return e.binary(OpCode::kComplex, e.unary(OpCode::kReal, x),
                  e.unary(OpCode::kNegate, e.unary(OpCode::kImag, x)));
}

ValueId constant_like(Expansion& e) {
  const Literal& value = e.attrs<ConstantAttrs>().value;
  const TensorType& type = e.result_type();
  if (value.type().dtype == type.dtype) {
    return e.b.constant(Literal::splat(e.operand_type(0).with_dtype(type.dtype),
                                       static_cast<const void*>(value.data())));
  }
  return e.b.splat(e.operand_type(0).with_dtype(type.dtype), value.as_double(0));
}

// The upper half of the product.
ValueId multiply_high(Expansion& e) {
  const ValueId a = e.operand(0), b = e.operand(1);
  const DType dtype = e.type(a).dtype;
  e.require(is_integer(dtype) && e.type(a) == e.type(b), "expected integers of one type");
  const bool is_signed = is_signed_int(dtype);
  const int width = bit_width(dtype);
  if (width < 64) {
    const DType wide = is_signed ? DType::kS64 : DType::kU64;
    const ValueId product = e.binary(OpCode::kMultiply, e.b.convert(a, wide), e.b.convert(b, wide));
    const OpCode shift = is_signed ? OpCode::kShiftRightArithmetic : OpCode::kShiftRightLogical;
    return e.b.convert(e.binary(shift, product, e.like(product, width)), dtype);
  }
  // Halves of 32 bits: (x1 + x0) (y1 + y0), without overflow.
  const ValueId x = e.b.convert(a, DType::kU64), y = e.b.convert(b, DType::kU64);
  const ValueId half = e.like(x, 32), mask = e.like(x, 4294967295.0);
  const auto low = [&](ValueId v) { return e.binary(OpCode::kAnd, v, mask); };
  const auto high = [&](ValueId v) { return e.binary(OpCode::kShiftRightLogical, v, half); };
  const auto times = [&](ValueId v, ValueId w) { return e.binary(OpCode::kMultiply, v, w); };
  const auto plus = [&](ValueId v, ValueId w) { return e.binary(OpCode::kAdd, v, w); };
  const ValueId x0 = low(x), x1 = high(x), y0 = low(y), y1 = high(y);
  const ValueId middle = plus(times(x1, y0), high(times(x0, y0)));
  const ValueId cross = plus(times(x0, y1), low(middle));
  ValueId result = plus(plus(times(x1, y1), high(middle)), high(cross));
  if (!is_signed) return result;
  // Signed numbers are the unsigned ones, less 2^64 where negative.
  const auto correction = [&](ValueId sign_of, ValueId other) {
    const ValueId negative = e.b.compare(CompareDirection::kLt, sign_of, e.like(sign_of, 0));
    return e.b.select(negative, other, e.like(other, 0));
  };
  result = e.binary(OpCode::kSubtract, result, correction(a, y));
  result = e.binary(OpCode::kSubtract, result, correction(b, x));
  return e.b.convert(result, dtype);
}

// As C's nextafter, on the bits: magnitudes grow with their patterns.
ValueId next_after(Expansion& e) {
  const ValueId x = e.operand(0), y = e.operand(1);
  const DType dtype = e.type(x).dtype;
  e.require(is_float(dtype) && e.type(x) == e.type(y), "expected floats of one type");
  const int width = bit_width(dtype);
  e.require(width >= 8 && dtype != DType::kF8E8M0FNU,
            fmt::format("{} has no sign and magnitude of a byte", name_of(dtype)));
  const DType integer = width == 64   ? DType::kU64
                        : width == 32 ? DType::kU32
                        : width == 16 ? DType::kU16
                                      : DType::kU8;
  const ValueId bits = e.bitcast(x, integer), other = e.bitcast(y, integer);
  const uint64_t sign = uint64_t{1} << (width - 1);
  const ValueId sign_mask = e.bits_like(bits, sign), one = e.bits_like(bits, 1);
  const ValueId zero = e.bits_like(bits, 0);
  const auto magnitude = [&](ValueId v) {
    return e.binary(OpCode::kAnd, v, e.bits_like(bits, sign - 1));
  };
  const auto sign_of = [&](ValueId v) { return e.binary(OpCode::kAnd, v, sign_mask); };
  const auto ne = [&](ValueId v, ValueId w) { return e.b.compare(CompareDirection::kNe, v, w); };
  // Towards zero when y has the other sign or the smaller magnitude.
  const ValueId shrinks =
      e.binary(OpCode::kOr, ne(sign_of(bits), sign_of(other)),
               e.b.compare(CompareDirection::kGt, magnitude(bits), magnitude(other)));
  const ValueId moved = e.b.select(shrinks, e.binary(OpCode::kSubtract, bits, one),
                                   e.binary(OpCode::kAdd, bits, one));
  const ValueId from_zero = e.binary(OpCode::kOr, sign_of(other), one);
  const ValueId x_is_zero = e.b.compare(CompareDirection::kEq, magnitude(bits), zero);
  const ValueId stepped = e.bitcast(e.b.select(x_is_zero, from_zero, moved), dtype);
  const ValueId arrived = e.b.compare(CompareDirection::kEq, x, y);
  const ValueId nan = e.binary(OpCode::kOr, ne(x, x), ne(y, y));
  return e.b.select(nan, e.binary(OpCode::kAdd, x, y), e.b.select(arrived, y, stepped));
}

}  // namespace

Values expand_elementwise(Expansion& e) {
  switch (e.op().code) {
    case OpCode::kConj:
      return {conjugate(e)};
    case OpCode::kConstantLike:
      return {constant_like(e)};
    case OpCode::kMulhi:
      return {multiply_high(e)};
    case OpCode::kNextAfter:
      return {next_after(e)};
    default:
      return {is_infinite(e)};
  }
}

}  // namespace spmd::expand
