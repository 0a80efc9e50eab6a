// check.expect_*: the number of elements that are not as expected.
#include <limits>

#include "ir/expand/expansion.h"
#include "support/error.h"

namespace spmd::expand {
namespace {

DType bits_type(const Expansion& e, DType dtype) {
  switch (byte_size(dtype)) {
    case 1:
      return DType::kU8;
    case 2:
      return DType::kU16;
    case 4:
      return DType::kU32;
    case 8:
      return DType::kU64;
    default:
      e.fail(fmt::format("cannot compare {}", name_of(dtype)));
  }
}

class Check {
 public:
  explicit Check(Expansion& e) : e_(e), attrs_(e.attrs<CheckAttrs>()) {
    actual_ = e.operand(0);
    if (attrs_.expected) {
      e.require(attrs_.expected->type() == e.type(actual_), "the value has another type");
      expected_ = e.b.constant(*attrs_.expected);
    } else {
      expected_ = e.operand(1);
    }
    e.require(e.type(actual_) == e.type(expected_),
              fmt::format("{} is expected to be {}", to_string(e.type(actual_)),
                          to_string(e.type(expected_))));
  }

  ValueId count() {
    ValueId wrong = mismatches(actual_, expected_);
    const TensorType type = e_.type(wrong);
    const ValueId ones = e_.b.convert(wrong, DType::kS32);
    Dims all;
    for (int64_t d = 0; d < type.rank(); ++d) all.push_back(d);
    return all.empty() ? ones : e_.b.reduce(ones, e_.b.scalar(DType::kS32, 0), all, OpCode::kAdd);
  }

 private:
  ValueId mismatches(ValueId actual, ValueId expected) {
    const DType dtype = e_.type(actual).dtype;
    if (is_complex(dtype)) {
      const auto part = [&](OpCode code) {
        return mismatches(e_.unary(code, actual), e_.unary(code, expected));
      };
      return e_.binary(OpCode::kOr, part(OpCode::kReal), part(OpCode::kImag));
    }
    if (!is_float(dtype)) return e_.b.compare(CompareDirection::kNe, actual, expected);
    const auto is_nan = [&](ValueId x) { return e_.b.compare(CompareDirection::kNe, x, x); };
    const ValueId nan_a = is_nan(actual), nan_e = is_nan(expected);
    const ValueId both = e_.binary(OpCode::kAnd, nan_a, nan_e);
    const ValueId either = e_.binary(OpCode::kOr, nan_a, nan_e);
    const ValueId wrong =
        e_.b.select(either, e_.like_bool(actual, true), numbers(actual, expected));
    const bool wants_distance = is_close() && attrs_.min_ulps > 0;
    // NaNs are equal: their distance is 0.
    return e_.b.select(both, e_.like_bool(actual, wants_distance), wrong);
  }

  bool is_close() const {
    return e_.op().code == OpCode::kCheckClose || e_.op().code == OpCode::kCheckCloseConst;
  }

  // Of floats that are not NaN.
  ValueId numbers(ValueId actual, ValueId expected) {
    const DType bits = bits_type(e_, e_.type(actual).dtype);
    if (is_close()) return far(actual, expected, bits);
    const OpCode code = e_.op().code;
    if (code == OpCode::kCheckEq || code == OpCode::kCheckEqConst) {
      return e_.b.compare(CompareDirection::kNe, e_.bitcast(actual, bits),
                          e_.bitcast(expected, bits));
    }
    // Within an absolute tolerance; infinities are equal or not.
    const DType wide = DType::kF64;
    const ValueId a = e_.b.convert(actual, wide), x = e_.b.convert(expected, wide);
    const ValueId distance = e_.unary(OpCode::kAbs, e_.binary(OpCode::kSubtract, a, x));
    const ValueId near =
        e_.b.compare(CompareDirection::kLe, distance, e_.like(distance, attrs_.tolerance));
    const ValueId same = e_.b.compare(CompareDirection::kEq, a, x);
    return e_.unary(OpCode::kNot, e_.binary(OpCode::kOr, same, near));
  }

  // Distances in units in the last place: between the places of the numbers in their order. An
  // infinity is as far as can be from all but itself.
  ValueId far(ValueId actual, ValueId expected, DType bits) {
    const auto place = [&](ValueId x) {
      const int width = bit_width(bits);
      const ValueId raw = e_.b.convert(e_.bitcast(x, bits), DType::kU64);
      const ValueId sign = e_.bits_like(raw, uint64_t{1} << (width - 1));
      const ValueId magnitude =
          e_.binary(OpCode::kAnd, raw, e_.bits_like(raw, (uint64_t{1} << (width - 1)) - 1));
      const ValueId negative = e_.b.compare(
          CompareDirection::kNe, e_.binary(OpCode::kAnd, raw, sign), e_.bits_like(raw, 0));
      const ValueId middle = e_.bits_like(raw, uint64_t{1} << 63);
      return e_.b.select(negative, e_.binary(OpCode::kSubtract, middle, magnitude),
                         e_.binary(OpCode::kAdd, middle, magnitude));
    };
    const ValueId a = place(actual), x = place(expected);
    const ValueId distance = e_.binary(OpCode::kSubtract, e_.binary(OpCode::kMaximum, a, x),
                                       e_.binary(OpCode::kMinimum, a, x));
    const ValueId finite = e_.binary(OpCode::kAnd, e_.unary(OpCode::kIsFinite, actual),
                                     e_.unary(OpCode::kIsFinite, expected));
    const ValueId same = e_.b.compare(CompareDirection::kEq, actual, expected);
    const ValueId counted =
        e_.b.select(e_.binary(OpCode::kOr, finite, same), distance,
                    e_.bits_like(distance, std::numeric_limits<uint64_t>::max()));
    const ValueId too_far =
        e_.b.compare(CompareDirection::kGt, counted, e_.bits_like(counted, attrs_.max_ulps));
    const ValueId too_near =
        e_.b.compare(CompareDirection::kLt, counted, e_.bits_like(counted, attrs_.min_ulps));
    return e_.binary(OpCode::kOr, too_far, too_near);
  }

  Expansion& e_;
  const CheckAttrs attrs_;
  ValueId actual_, expected_;
};

}  // namespace

bool is_check(OpCode code) {
  switch (code) {
    case OpCode::kCheckAlmostEq:
    case OpCode::kCheckAlmostEqConst:
    case OpCode::kCheckClose:
    case OpCode::kCheckCloseConst:
    case OpCode::kCheckEq:
    case OpCode::kCheckEqConst:
      return true;
    default:
      return false;
  }
}

ValueId expand_check(Expansion& e) { return Check(e).count(); }

}  // namespace spmd::expand
