#include "ir/text/enum_names.h"
#include "ir/verify/families.h"

namespace spmd::verifier {
namespace {

// What each op works on.
unsigned elements_for(OpCode code) {
  switch (code) {
    case OpCode::kAnd:
    case OpCode::kNot:
    case OpCode::kOr:
    case OpCode::kXor:
      return kBooleans | kIntegers;
    case OpCode::kCountLeadingZeros:
    case OpCode::kPopulationCount:
    case OpCode::kShiftLeft:
    case OpCode::kShiftRightArithmetic:
    case OpCode::kShiftRightLogical:
      return kIntegers;
    case OpCode::kAbs:
    case OpCode::kSign:
      return kSignedIntegers | kFloats | kComplex;
    case OpCode::kDivide:
    case OpCode::kNegate:
    case OpCode::kPower:
    case OpCode::kSquare:
    case OpCode::kSubtract:
      return kNumbers;
    case OpCode::kRemainder:
      return kIntegers | kFloats;
    case OpCode::kBesselI1e:
    case OpCode::kCeil:
    case OpCode::kDigamma:
    case OpCode::kErf:
    case OpCode::kErfInv:
    case OpCode::kErfc:
    case OpCode::kFloor:
    case OpCode::kIsFinite:
    case OpCode::kLgamma:
    case OpCode::kPolygamma:
    case OpCode::kReducePrecision:
    case OpCode::kRoundNearestAfz:
    case OpCode::kRoundNearestEven:
    case OpCode::kZeta:
      return kFloats;
    case OpCode::kAcos:
    case OpCode::kAcosh:
    case OpCode::kAsin:
    case OpCode::kAsinh:
    case OpCode::kAtan:
    case OpCode::kAtan2:
    case OpCode::kAtanh:
    case OpCode::kCbrt:
    case OpCode::kCosh:
    case OpCode::kCosine:
    case OpCode::kExponential:
    case OpCode::kExponentialMinusOne:
    case OpCode::kImag:
    case OpCode::kLog:
    case OpCode::kLogPlusOne:
    case OpCode::kLogistic:
    case OpCode::kReal:
    case OpCode::kRsqrt:
    case OpCode::kSine:
    case OpCode::kSinh:
    case OpCode::kSqrt:
    case OpCode::kTan:
    case OpCode::kTanh:
      return kFloats | kComplex;
    default:
      return kAllElements;
  }
}

unsigned elements_for(CompareType type) {
  switch (type) {
    case CompareType::kNone:
      return kAllElements;
    case CompareType::kFloat:
      return kFloats | kComplex;
    case CompareType::kSigned:
      return kSignedIntegers;
    case CompareType::kUnsigned:
      return kUnsignedIntegers | kBooleans;
    case CompareType::kTotalOrder:
      return kFloats;
  }
  return 0;
}

void verify_compare(const OpView& v) {
  const auto& attrs = v.op.as<CompareAttrs>();
  const DType dtype = v.operand(0).dtype;
  v.require(contains(elements_for(attrs.type), dtype), "a comparison of type {} does not fit {}",
            text::enum_name(attrs.type), dtype);
  const bool equality =
      attrs.direction == CompareDirection::kEq || attrs.direction == CompareDirection::kNe;
  v.require(equality || !is_complex(dtype), "complex numbers have no order, expected EQ or NE");
}

void verify_reduce_precision(const OpView& v) {
  const auto& attrs = v.op.as<ReducePrecisionAttrs>();
  v.require(attrs.exponent_bits >= 1 && attrs.exponent_bits <= 64,
            "has {} exponent bits, expected 1 to 64", attrs.exponent_bits);
  v.require(attrs.mantissa_bits >= 0 && attrs.mantissa_bits <= 64,
            "has {} mantissa bits, expected 0 to 64", attrs.mantissa_bits);
}

}  // namespace

void verify_elementwise(const OpView& v) {
  if (v.op.code == OpCode::kConvert) {
    v.require_counts(1, 1);
    v.require(v.operand(0).shape == v.result(0).shape, "shapes of {} and {} differ", v.operand(0),
              v.result(0));
  }
  v.require_operands_of(elements_for(v.op.code));
  switch (v.op.code) {
    case OpCode::kSelect:
      return v.require_type("operand 2", v.operand(2), v.operand(1));
    case OpCode::kClamp:
      for (size_t i : {0, 2}) {
        v.require(v.operand(i).dtype == v.operand(1).dtype, "a bound is {}, the operand {}",
                  v.operand(i), v.operand(1));
      }
      return;
    case OpCode::kCompare:
      return verify_compare(v);
    case OpCode::kReducePrecision:
      return verify_reduce_precision(v);
    default:
      return;
  }
}

}  // namespace spmd::verifier
