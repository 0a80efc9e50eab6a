#include <bit>

#include "ir/eval/elements.h"
#include "ir/eval/elementwise_internal.h"
#include "ir/eval/scalar_ops.h"

namespace spmd::eval {
namespace {

template <typename T, typename R, typename F>
Literal zip(const Literal& a, const Literal& b, const TensorType& type, F&& f) {
  Output output(type, a.is_splat() && b.is_splat());
  const Elements<T> left(a), right(b);
  R* to = output.as<R>();
  for (int64_t i = 0, count = output.size(); i < count; ++i) to[i] = f(left[i], right[i]);
  return output.take();
}

// A shift by the width of the type or more, read as unsigned, moves every bit out.
template <typename T>
T shifted(OpCode code, T value, T amount, int width) {
  using Bits = std::make_unsigned_t<T>;
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  const uint64_t distance = static_cast<uint64_t>(amount) & mask;
  const bool out = distance >= static_cast<uint64_t>(width);
  const uint64_t bits = static_cast<Bits>(value) & mask;
  switch (code) {
    case OpCode::kShiftLeft:
      return out ? T(0) : static_cast<T>(bits << distance);
    case OpCode::kShiftRightLogical:
      return out ? T(0) : static_cast<T>(bits >> distance);
    default: {
      // Of the sign bit of the value, also for unsigned types.
      const int64_t extended = static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
      return static_cast<T>(extended >> (out ? 63 : static_cast<int>(distance)));
    }
  }
}

template <typename T>
Literal apply_shift(OpCode code, const Literal& a, const Literal& b, DType dtype,
                    const TensorType& type) {
  if constexpr (std::is_integral_v<T>) {
    const int width = bit_width(dtype);
    return zip<T, T>(a, b, type,
                     [=](T x, T y) { return wrap_to(dtype, shifted<T>(code, x, y, width)); });
  } else {
    SPMD_UNREACHABLE("shift of {}", name_of(dtype));
  }
}

template <typename T>
Literal apply_typed(OpCode code, const Literal& a, const Literal& b, DType dtype,
                    const TensorType& type) {
  const auto with = [&]<typename F>(F) {
    return zip<T, T>(a, b, type, [dtype](T x, T y) { return wrap_to(dtype, F::apply(x, y)); });
  };
  switch (code) {
    case OpCode::kAdd:
      return with(AddOp());
    case OpCode::kAnd:
      return with(AndOp());
    case OpCode::kAtan2:
      return with(Atan2Op());
    case OpCode::kDivide:
      return with(DivideOp());
    case OpCode::kMaximum:
      return with(MaximumOp());
    case OpCode::kMinimum:
      return with(MinimumOp());
    case OpCode::kMultiply:
      return with(MultiplyOp());
    case OpCode::kOr:
      return with(OrOp());
    case OpCode::kPolygamma:
      return with(PolygammaOp());
    case OpCode::kPower:
      return with(PowerOp());
    case OpCode::kRemainder:
      return with(RemainderOp());
    case OpCode::kShiftLeft:
    case OpCode::kShiftRightArithmetic:
    case OpCode::kShiftRightLogical:
      return apply_shift<T>(code, a, b, dtype, type);
    case OpCode::kSubtract:
      return with(SubtractOp());
    case OpCode::kXor:
      return with(XorOp());
    case OpCode::kZeta:
      return with(ZetaOp());
    default:
      SPMD_UNREACHABLE("{} is not a binary op", name_of(code));
  }
}

// -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN
template <typename T>
auto total_order_key(T value) {
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  const Bits bits = std::bit_cast<Bits>(value);
  return bits < 0 ? static_cast<Bits>(bits ^ std::numeric_limits<Bits>::max()) : bits;
}

template <typename T>
Literal compare_ordered(CompareDirection direction, const Literal& a, const Literal& b,
                        const TensorType& type, auto&& key) {
  const auto with = [&](auto&& f) {
    return zip<T, uint8_t>(a, b, type, [&](T x, T y) { return f(key(x), key(y)); });
  };
  switch (direction) {
    case CompareDirection::kEq:
      return with([](auto x, auto y) { return x == y; });
    case CompareDirection::kNe:
      return with([](auto x, auto y) { return x != y; });
    case CompareDirection::kLt:
      return with([](auto x, auto y) { return x < y; });
    case CompareDirection::kLe:
      return with([](auto x, auto y) { return x <= y; });
    case CompareDirection::kGt:
      return with([](auto x, auto y) { return x > y; });
    case CompareDirection::kGe:
      return with([](auto x, auto y) { return x >= y; });
  }
  SPMD_UNREACHABLE("comparison direction {}", static_cast<int>(direction));
}

}  // namespace

OpCode boolean_meaning(OpCode code) {
  switch (code) {
    case OpCode::kAdd:
    case OpCode::kMaximum:
      return OpCode::kOr;
    case OpCode::kMultiply:
    case OpCode::kMinimum:
      return OpCode::kAnd;
    case OpCode::kSubtract:
      return OpCode::kXor;
    default:
      return code;
  }
}

Literal apply_binary(OpCode code, const Literal& a, const Literal& b, DType dtype,
                     const Dims& shape) {
  if (dtype == DType::kBool) code = boolean_meaning(code);
  return with_type(a.type().dtype, [&]<typename T>(std::type_identity<T>) {
    return apply_typed<T>(code, a, b, dtype, a.type().with_shape(shape));
  });
}

Literal apply_compare(const CompareAttrs& attrs, const Literal& a, const Literal& b,
                      const Dims& shape) {
  const TensorType type{DType::kBool, shape};
  return with_type(a.type().dtype, [&]<typename T>(std::type_identity<T>) {
    if constexpr (is_complex_v<T>) {
      const bool equal = attrs.direction == CompareDirection::kEq;
      return zip<T, uint8_t>(a, b, type, [=](T x, T y) { return (x == y) == equal; });
    } else if constexpr (std::is_floating_point_v<T>) {
      if (attrs.type == CompareType::kTotalOrder) {
        return compare_ordered<T>(attrs.direction, a, b, type, total_order_key<T>);
      }
      return compare_ordered<T>(attrs.direction, a, b, type, [](T x) { return x; });
    } else {
      return compare_ordered<T>(attrs.direction, a, b, type, [](T x) { return x; });
    }
  });
}

}  // namespace spmd::eval
