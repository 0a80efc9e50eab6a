// Arithmetic, comparisons, logic and conversions, element by element.
#include <charconv>
#include <cmath>
#include <limits>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/types.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The second operand of a binary op. Before opset 7 it broadcast only if asked to, its dimensions
// standing at `axis` of the first operand's.
Expr second_operand(Node& node, const Expr& a) {
  const Expr b = node.in(1);
  if (node.opset() >= 7 || !node.flag("broadcast", false)) return b;
  const int64_t at = node.axis(node.integer("axis", a.rank() - b.rank()), a.rank(), true);
  Dims shape = b.shape();
  if (at + b.rank() > a.rank()) node.fail("the second operand does not fit at its axis");
  shape.resize(shape.size() + static_cast<size_t>(a.rank() - at - b.rank()), 1);
  return reshape(b, std::move(shape));
}

template <OpCode code>
void plain_unary(Node& node) {
  node.set(0, unary(code, node.in(0)));
}

template <OpCode code>
void plain_binary(Node& node) {
  const Expr a = node.in(0);
  node.set(0, binary(code, a, second_operand(node, a)));
}

template <CompareDirection direction>
void comparison(Node& node) {
  const Expr a = node.in(0);
  node.set(0, compare(direction, a, second_operand(node, a)));
}

// Left fold of all inputs.
template <OpCode code>
void variadic(Node& node) {
  const std::vector<Expr> inputs = node.ins();
  Expr result = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) result = binary(code, result, inputs[i]);
  node.set(0, result);
}

void mean_of_inputs(Node& node) {
  const std::vector<Expr> inputs = node.ins();
  Expr result = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) result = result + inputs[i];
  node.set(0, result / static_cast<double>(inputs.size()));
}

void sign_bit_free_abs(Node& node) {
  const Expr x = node.in(0);
  node.set(0, is_unsigned_int(x.dtype()) ? x : abs(x));
}

void reciprocal(Node& node) { node.set(0, 1.0 / node.in(0)); }

void pow(Node& node) {
  const Expr x = node.in(0), y = second_operand(node, x);
  if (is_float(x.dtype()) || !is_float(y.dtype())) {
    node.set(0, power(x, convert(y, x.dtype())));
  } else {  // an integer base, a float exponent
    node.set(0, convert(power(convert(x, y.dtype()), y), x.dtype()));
  }
}

void mod(Node& node) {
  const Expr a = node.in(0), b = node.in(1);
  const Expr rest = remainder(a, b);
  if (node.flag("fmod", false) || is_unsigned_int(a.dtype())) return node.set(0, rest);
  // Python's: the result has the divisor's sign.
  const Expr wrong = not_equal(rest, 0.0) & not_equal(sign(rest), sign(b));
  node.set(0, select(wrong, rest + b, rest));
}

void bit_shift(Node& node) {
  const std::string direction = node.text("direction", "");
  node.require(direction == "LEFT" || direction == "RIGHT",
               "its attribute direction must be LEFT or RIGHT");
  const Expr x = node.in(0);
  const OpCode right =
      is_signed_int(x.dtype()) ? OpCode::kShiftRightArithmetic : OpCode::kShiftRightLogical;
  node.set(0, binary(direction == "LEFT" ? OpCode::kShiftLeft : right, x, node.in(1)));
}

// ---- functions

void asin(Node& node) {
  const Expr x = node.in(0);
  node.set(0, binary(OpCode::kAtan2, x, sqrt((1.0 - x) * (1.0 + x))));
}
void acos(Node& node) {
  const Expr x = node.in(0);
  node.set(0, binary(OpCode::kAtan2, sqrt((1.0 - x) * (1.0 + x)), x));
}
void atan(Node& node) { node.set(0, binary(OpCode::kAtan2, node.in(0), 1.0)); }

// Half of e + e / (e + 1) with e = exp(|x|) - 1: exact for small x. |x| is halved first where exp
// would overflow before sinh does.
void sinh(Node& node) {
  const Expr x = node.in(0), magnitude = abs(x);
  const Expr e = expm1(magnitude);
  const Expr half = exp(magnitude * 0.5);
  const Expr near = (e + e / (e + 1.0)) * 0.5;
  const Expr far = half * 0.5 * half;
  node.set(0, sign(x) * select(greater(magnitude, 20.0), far, near));
}
void cosh(Node& node) {
  const Expr half = exp(abs(node.in(0)) * 0.5);
  node.set(0, half * 0.5 * half + 0.5 / half / half);
}
void asinh(Node& node) {
  const Expr x = node.in(0), magnitude = abs(x);
  const Expr square = magnitude * magnitude;
  const Expr near = log1p(magnitude + square / (1.0 + sqrt(1.0 + square)));
  const Expr far = log(magnitude) + std::log(2.0);  // where the square overflows
  node.set(0, sign(x) * select(greater(magnitude, 1e4), far, near));
}
void acosh(Node& node) {
  const Expr x = node.in(0);
  node.set(0, log(x + sqrt(x + 1.0) * sqrt(x - 1.0)));
}
void atanh(Node& node) {
  const Expr x = node.in(0);
  node.set(0, (log1p(x) - log1p(-x)) * 0.5);
}

void is_inf(Node& node) {
  const Expr x = node.in(0);
  Expr found = splat(node.writer(), {DType::kBool, x.shape()}, 0);
  if (node.flag("detect_positive", true)) found = found | equal(x, kInfinity);
  if (node.flag("detect_negative", true)) found = found | equal(x, -kInfinity);
  node.set(0, found);
}
void is_nan_op(Node& node) { node.set(0, is_nan(node.in(0))); }

void where(Node& node) { node.set(0, select(node.in(0), node.in(1), node.in(2))); }

void clip(Node& node) {
  Expr x = node.in(0);
  if (node.opset() < 11) {
    if (node.has_attribute("min")) x = max(x, node.number("min", 0));
    if (node.has_attribute("max")) x = min(x, node.number("max", 0));
  } else {
    if (const Expr low = node.in_or_none(1)) x = max(x, low);
    if (const Expr high = node.in_or_none(2)) x = min(x, high);
  }
  node.set(0, x);
}

// ---- conversions

double largest(DType dtype) { return dtype == DType::kF8E4M3FN ? 448 : 57344; }

Expr cast(Node& node, Expr x, DType to) {
  if (x.dtype() == to) return x;
  if (to == DType::kBool) return not_equal(x, 0.0);
  const bool narrow = to == DType::kF8E4M3FN || to == DType::kF8E5M2;
  if (narrow && node.flag("saturate", true)) {
    x = clamp(-largest(to), convert(x, DType::kF32), largest(to));
  }
  // Numbers beyond four bits lose their upper ones.
  const bool wraps = (to == DType::kS4 || to == DType::kU4) && is_float(x.dtype());
  return convert(wraps ? convert(x, DType::kS32) : x, to);
}

double parse_number(Node& node, std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
    node.fail(fmt::format("the string \"{}\" is no number", text), "correct the string");
  }
  return value;
}

Expr cast_strings(Node& node, const StringTensor& strings, DType to) {
  Literal literal(TensorType{DType::kF64, strings.shape});
  for (size_t i = 0; i < strings.elements.size(); ++i) {
    literal.mutable_as<double>()[i] = parse_number(node, strings.elements[i]);
  }
  return cast(node, constant(node.writer(), std::move(literal)), to);
}

void cast_to(Node& node, DType to) {
  const Value value = node.value(0);
  node.set(0, value.kind == Value::Kind::kStrings ? cast_strings(node, *value.strings, to)
                                                  : cast(node, node.in(0), to));
}

void cast_op(Node& node) {
  if (node.opset() >= 6) return cast_to(node, node.dtype("to"));
  // Named by a string before opset 6.
  const std::string name = node.text("to", "");
  for (int type = 1; type <= 16; ++type) {
    const std::optional<DType> dtype = dtype_of(type);
    if (dtype && data_type_name(type) == name) return cast_to(node, *dtype);
  }
  node.unsupported(fmt::format("a cast to \"{}\"", name));
}

void cast_like(Node& node) {
  if (node.value(1).kind == Value::Kind::kStrings) node.unsupported("a cast to strings");
  cast_to(node, node.in(1).dtype());
}

void bit_cast(Node& node) {
  const Expr x = node.in(0);
  const DType to = node.dtype("to");
  node.require(byte_size(to) == byte_size(x.dtype()), "element types differ in size");
  const OpId op = x.builder().create(OpCode::kBitcastConvert, {x.id()}, {x.type().with_dtype(to)});
  node.set(0, Expr(node.writer(), node.writer().function().op(op).results[0]));
}

}  // namespace

std::span<const OpHandler> elementwise_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"Abs", sign_bit_free_abs, kNumbers},
      {"Acos", acos, kFloats},
      {"Acosh", acosh, kFloats},
      {"Add", plain_binary<OpCode::kAdd>, kNumbers},
      {"And", plain_binary<OpCode::kAnd>, kBooleans},
      {"Asin", asin, kFloats},
      {"Asinh", asinh, kFloats},
      {"Atan", atan, kFloats},
      {"Atanh", atanh, kFloats},
      {"BitCast", bit_cast},
      {"BitShift", bit_shift, kIntegers},
      {"BitwiseAnd", plain_binary<OpCode::kAnd>, kIntegers},
      {"BitwiseNot", plain_unary<OpCode::kNot>, kIntegers},
      {"BitwiseOr", plain_binary<OpCode::kOr>, kIntegers},
      {"BitwiseXor", plain_binary<OpCode::kXor>, kIntegers},
      {"Cast", cast_op, kAnything},
      {"CastLike", cast_like, kAnything},
      {"Ceil", plain_unary<OpCode::kCeil>, kFloats},
      {"Clip", clip, kNumbers},
      {"Cos", plain_unary<OpCode::kCosine>, kFloats},
      {"Cosh", cosh, kFloats},
      {"Div", plain_binary<OpCode::kDivide>, kNumbers},
      {"Equal", comparison<CompareDirection::kEq>},
      {"Erf", plain_unary<OpCode::kErf>, kFloats},
      {"Exp", plain_unary<OpCode::kExponential>, kFloats},
      {"Floor", plain_unary<OpCode::kFloor>, kFloats},
      {"Greater", comparison<CompareDirection::kGt>, kNumbers},
      {"GreaterOrEqual", comparison<CompareDirection::kGe>, kNumbers},
      {"IsInf", is_inf, kFloats},
      {"IsNaN", is_nan_op, kFloats},
      {"Less", comparison<CompareDirection::kLt>, kNumbers},
      {"LessOrEqual", comparison<CompareDirection::kLe>, kNumbers},
      {"Log", plain_unary<OpCode::kLog>, kFloats},
      {"Max", variadic<OpCode::kMaximum>, kNumbers},
      {"Mean", mean_of_inputs, kFloats},
      {"Min", variadic<OpCode::kMinimum>, kNumbers},
      {"Mod", mod, kNumbers},
      {"Mul", plain_binary<OpCode::kMultiply>, kNumbers},
      {"Neg", plain_unary<OpCode::kNegate>, kNumbers},
      {"Not", plain_unary<OpCode::kNot>, kBooleans},
      {"Or", plain_binary<OpCode::kOr>, kBooleans},
      {"Pow", pow, kNumbers},
      {"Reciprocal", reciprocal, kFloats},
      {"Round", plain_unary<OpCode::kRoundNearestEven>, kFloats},
      {"Sign", plain_unary<OpCode::kSign>, kNumbers},
      {"Sin", plain_unary<OpCode::kSine>, kFloats},
      {"Sinh", sinh, kFloats},
      {"Sqrt", plain_unary<OpCode::kSqrt>, kFloats},
      {"Sub", plain_binary<OpCode::kSubtract>, kNumbers},
      {"Sum", variadic<OpCode::kAdd>, kNumbers},
      {"Tan", plain_unary<OpCode::kTan>, kFloats},
      {"Tanh", plain_unary<OpCode::kTanh>, kFloats},
      {"Where", where, kBooleans},
      {"Xor", plain_binary<OpCode::kXor>, kBooleans},
  };
  return kOps;
}

}  // namespace spmd::onnx
