#include <algorithm>
#include <cmath>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {

ValueId OpDrawer::elementwise(ValueId x) {
  if (type(x).dtype == DType::kBool) return logical(x);
  switch (random_.below(6)) {
    case 0:
      return select_or_clamp(x);
    case 1:
      return convert(x);
    case 2:
      return unary(x);
    case 3:
      return compare(x);
    default:
      return binary(x);
  }
}

ValueId OpDrawer::logical(ValueId x) {
  switch (random_.below(5)) {
    case 0:
      return known(b_->value(OpCode::kNot, {x}), 1);
    case 1:
      return known(b_->binary(OpCode::kAnd, x, like(type(x))), 1);
    case 2:
      return known(b_->binary(OpCode::kOr, like(type(x)), x), 1);
    case 3:
      return known(b_->binary(OpCode::kXor, like(type(x)), x), 1);
    default: {
      const TensorType values = type(x).with_dtype(number());
      const ValueId on_true = like(values), on_false = like(values);
      return known(b_->select(x, on_true, on_false), std::max(bound(on_true), bound(on_false)));
    }
  }
}

// Of whole numbers, those whose results are whole numbers.
ValueId OpDrawer::binary(ValueId x) {
  const DType dtype = type(x).dtype;
  if (dtype == DType::kBool) return ValueId::kNone;
  std::vector<OpCode> codes = {OpCode::kAdd,      OpCode::kAdd,     OpCode::kSubtract,
                               OpCode::kMultiply, OpCode::kMaximum, OpCode::kMinimum};
  if (is_integer(dtype)) {
    codes.insert(codes.end(), {OpCode::kDivide, OpCode::kRemainder, OpCode::kPower});
  }
  const OpCode code = random_.of(codes);
  const ValueId y = random_.chance(15) ? x : like(type(x));
  const bool swap = random_.chance(50);
  const ValueId lhs = swap ? y : x, rhs = swap ? x : y;
  double limit = bound(x) + bound(y);
  if (code == OpCode::kMultiply) limit = bound(x) * bound(y);
  const bool wraps = code == OpCode::kPower ||
                     (is_unsigned_int(dtype) && code != OpCode::kAdd && code != OpCode::kMultiply);
  if (wraps) limit = largest_integer(dtype);
  return known(b_->binary(code, lhs, rhs), limit);
}

ValueId OpDrawer::unary(ValueId x) {
  const DType dtype = type(x).dtype;
  if (dtype == DType::kBool) return ValueId::kNone;
  std::vector<OpCode> codes = {OpCode::kNegate, OpCode::kSquare};
  if (!is_unsigned_int(dtype)) codes.push_back(OpCode::kAbs);
  if (!is_unsigned_int(dtype) && !rough(x)) codes.push_back(OpCode::kSign);
  if (is_float(dtype)) codes.push_back(OpCode::kIsFinite);
  if (is_float(dtype) && !rough(x)) {
    codes.insert(codes.end(), {OpCode::kFloor, OpCode::kCeil, OpCode::kRoundNearestAfz,
                               OpCode::kRoundNearestEven, OpCode::kReducePrecision});
  }
  const OpCode code = random_.of(codes);
  switch (code) {
    case OpCode::kSign:
    case OpCode::kIsFinite:
      return known(b_->value(code, {x}), 1);
    case OpCode::kSquare:
      return known(b_->value(code, {x}), bound(x) * bound(x));
    case OpCode::kReducePrecision: {
      const ReducePrecisionAttrs attrs{8, static_cast<int>(random_.pick(3, 12))};
      return known(b_->value(code, {x}, attrs), 2 * bound(x));
    }
    case OpCode::kNegate:
      return known(b_->value(code, {x}),
                   is_unsigned_int(dtype) ? largest_integer(dtype) : bound(x));
    default:
      return known(b_->value(code, {x}), std::ceil(bound(x)));
  }
}

ValueId OpDrawer::bitwise(ValueId x) {
  const DType dtype = type(x).dtype;
  if (!is_integer(dtype)) x = firm_like(type(x).with_dtype(random_integer(random_)));
  x = as_partial(x);
  switch (random_.below(4)) {
    case 0:
      return known(b_->value(OpCode::kNot, {x}), largest_integer(type(x).dtype));
    case 1:
      return known(
          b_->value(random_.chance(50) ? OpCode::kPopulationCount : OpCode::kCountLeadingZeros,
                    {x}),
          64);
    default: {
      const OpCode code =
          random_.of(std::vector{OpCode::kAnd, OpCode::kOr, OpCode::kXor, OpCode::kShiftLeft,
                                 OpCode::kShiftRightArithmetic, OpCode::kShiftRightLogical});
      return known(b_->binary(code, x, firm_like(type(x))), largest_integer(type(x).dtype));
    }
  }
}

ValueId OpDrawer::compare(ValueId x) {
  if (rough(x)) return ValueId::kNone;
  const ValueId y = firm_like(type(x));
  CompareAttrs attrs;
  attrs.direction = static_cast<CompareDirection>(random_.below(6));
  // The total order tells zeros apart, whose sign depends on the order of additions.
  const bool given = fn_.def(x) == nullptr && fn_.def(y) == nullptr;
  if (is_float(type(x).dtype) && given && random_.chance(30)) attrs.type = CompareType::kTotalOrder;
  return known(b_->value(OpCode::kCompare, {x, y}, attrs), 1);
}

ValueId OpDrawer::select_or_clamp(ValueId x) {
  if (random_.chance(40)) {
    const TensorType limits = random_.chance(50) ? type(x) : type(x).with_shape({});
    const ValueId low = like(limits), high = like(limits);
    return known(b_->value(OpCode::kClamp, {low, x, high}),
                 std::max({bound(x), bound(low), bound(high)}));
  }
  const TensorType predicate{DType::kBool, random_.chance(55) ? Dims{} : type(x).shape};
  const ValueId other = like(type(x));
  return known(b_->select(firm_like(predicate), x, other), std::max(bound(x), bound(other)));
}

ValueId OpDrawer::convert(ValueId x) {
  const DType from = type(x).dtype;
  const DType to = random_.chance(10) ? DType::kBool : number();
  if (from == to) return ValueId::kNone;
  if (is_float(from) && !is_float(to)) {
    // What an integer type does not hold converts to something that depends on the implementation.
    if (rough(x) || (is_integer(to) && bound(x) >= largest_integer(to))) return ValueId::kNone;
    const double limit = to == DType::kBool ? 1 : bound(x);
    return known(b_->convert(is_unsigned_int(to) ? positive(x, 0) : x, to), limit);
  }
  if (to == DType::kBool) return known(b_->convert(x, to), 1);
  const bool may_be_negative = is_signed_int(from) || is_float(from);
  if (is_integer(to) &&
      (bound(x) >= largest_integer(to) || (may_be_negative && is_unsigned_int(to)))) {
    return known(b_->convert(x, to), largest_integer(to));
  }
  return known(b_->convert(x, to), bound(x));
}

// ---- functions of real numbers

namespace {

struct RealFunction {
  OpCode code;
  double largest;  // of arguments
  double shift;    // added to their magnitude; negative: they are taken with their sign
  double limit;    // of the value; 0: as large as the argument
};

const std::vector<RealFunction>& functions() {
  static const std::vector<RealFunction> kFunctions = {
      {OpCode::kExponential, 5, -1, 150}, {OpCode::kExponentialMinusOne, 5, -1, 150},
      {OpCode::kLog, 1e4, 0.5, 10},       {OpCode::kLogPlusOne, 1e4, 0, 10},
      {OpCode::kLogistic, 20, -1, 1},     {OpCode::kTanh, 20, -1, 1},
      {OpCode::kErf, 20, -1, 1},          {OpCode::kSqrt, 1e4, 0, 0},
      {OpCode::kRsqrt, 1e4, 0.5, 1.5},    {OpCode::kCbrt, 1e4, -1, 0},
      {OpCode::kSine, 30, -1, 1},         {OpCode::kCosine, 30, -1, 1},
      {OpCode::kTan, 1, -1, 1.6},
  };
  return kFunctions;
}

}  // namespace

// A multiple of x that is no larger than `largest`.
ValueId OpDrawer::scaled(ValueId x, double largest) {
  if (bound(x) <= largest) return x;
  return remember(b_->binary(OpCode::kMultiply, x, b_->splat(type(x), largest / bound(x))),
                  largest);
}

// |x| + shift.
ValueId OpDrawer::positive(ValueId x, double shift) {
  const ValueId magnitude = remember(b_->value(OpCode::kAbs, {x}), bound(x));
  if (shift == 0) return magnitude;
  return remember(b_->binary(OpCode::kAdd, magnitude, b_->splat(type(x), shift)), bound(x) + shift);
}

ValueId OpDrawer::real_function(ValueId x) {
  if (setting_.whole || !is_float(type(x).dtype)) return ValueId::kNone;
  const RealFunction function = random_.of(functions());
  x = scaled(x, std::min(function.largest, high_end(type(x).dtype)));
  if (function.shift >= 0) x = positive(x, function.shift);
  x = as_partial(x);
  const double limit = function.limit > 0 ? function.limit : std::max(1.0, bound(x));
  return known(b_->value(function.code, {x}), limit);
}

ValueId OpDrawer::real_pair_function(ValueId x) {
  if (setting_.whole || !is_float(type(x).dtype)) return ValueId::kNone;
  const ValueId y = like(type(x));
  switch (random_.below(4)) {
    case 0:
      return known(b_->binary(OpCode::kDivide, x, positive(y, 0.5)), 2 * bound(x));
    case 1:
      return known(b_->binary(OpCode::kAtan2, x, positive(y, 0.5)), 2);
    case 2: {
      const ValueId base = positive(scaled(x, 4), 0.5);
      return known(b_->binary(OpCode::kPower, base, scaled(y, 2)), 21);
    }
    default:
      if (rough(x) || rough(y)) return ValueId::kNone;
      return known(b_->binary(OpCode::kRemainder, x, positive(y, 0.5)), bound(x));
  }
}

}  // namespace spmd::testing
