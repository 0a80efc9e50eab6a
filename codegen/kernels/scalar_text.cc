#include "codegen/kernels/scalar_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/plan/dtype.h"
#include "support/error.h"
#include "support/float_formats.h"

namespace spmd::codegen::kernels {
namespace {

bool is_half(plan::DType dtype) { return dtype == plan::F16 || dtype == plan::BF16; }

std::string rounded(plan::DType dtype, const std::string& text) {
  if (!is_half(dtype)) return text;
  return fmt::format("{}({})", dtype == plan::F16 ? "round_f16" : "round_bf16", text);
}

// Whether results are numbers of the type without being rounded.
bool is_exact(plan::ScalarOp op) {
  switch (op) {
    case plan::ABS:
    case plan::CEIL:
    case plan::CLAMP:
    case plan::FLOOR:
    case plan::MAXIMUM:
    case plan::MINIMUM:
    case plan::NEGATE:
    case plan::NOP:
    case plan::SELECT:
    case plan::SIGN:
      return true;
    default:
      return false;
  }
}

std::string call(std::string_view function, const std::vector<std::string>& args) {
  std::string text(function);
  text += '(';
  for (size_t i = 0; i < args.size(); ++i) text += (i ? ", " : "") + args[i];
  return text + ')';
}

// Of all types but BOOL.
std::string_view function_name(plan::ScalarOp op, bool is_float) {
  switch (op) {
    case plan::ABS:
      return "absolute";
    case plan::ADD:
      return "add";
    case plan::AND:
      return "bit_and";
    case plan::ATAN2:
      return "arc_tangent2";
    case plan::CBRT:
      return "cube_root";
    case plan::CEIL:
      return "ceiling";
    case plan::CLAMP:
      return "clamped";
    case plan::COSINE:
      return "sine_of<1>";
    case plan::COUNT_LEADING_ZEROS:
      return "leading_zeros";
    case plan::DIVIDE:
      return "divide";
    case plan::ERF:
      return "error_function";
    case plan::EXPONENTIAL:
      return "exponential";
    case plan::EXPONENTIAL_MINUS_ONE:
      return "exponential_minus_one";
    case plan::FLOOR:
      return "floor_of";
    case plan::IS_FINITE:
      return "finite";
    case plan::LOG:
      return "logarithm";
    case plan::LOG_PLUS_ONE:
      return "log_plus_one";
    case plan::LOGISTIC:
      return "logistic";
    case plan::MAXIMUM:
      return "maximum";
    case plan::MINIMUM:
      return "minimum";
    case plan::MULTIPLY:
      return "multiply";
    case plan::NEGATE:
      return "negate";
    case plan::NOT:
      return "bit_not";
    case plan::OR:
      return "bit_or";
    case plan::POPULATION_COUNT:
      return "population";
    case plan::POWER:
      return is_float ? "power" : "integer_power";
    case plan::REMAINDER:
      return "remainder";
    case plan::ROUND_NEAREST_AFZ:
      return "round_away";
    case plan::ROUND_NEAREST_EVEN:
      return "round_even";
    case plan::RSQRT:
      return "reciprocal_root";
    case plan::SHIFT_LEFT:
      return "shift_left";
    case plan::SHIFT_RIGHT_ARITHMETIC:
      return "shift_right_arithmetic";
    case plan::SHIFT_RIGHT_LOGICAL:
      return "shift_right_logical";
    case plan::SIGN:
      return "sign";
    case plan::SINE:
      return "sine_of<0>";
    case plan::SQRT:
      return "square_root";
    case plan::SUBTRACT:
      return "subtract";
    case plan::TAN:
      return "tangent";
    case plan::TANH:
      return "hyperbolic_tangent";
    case plan::XOR:
      return "bit_xor";
    default:
      SPMD_UNREACHABLE("{} is not compiled", plan::ScalarOp_Name(op));
  }
}

std::string boolean(plan::ScalarOp op, const std::vector<std::string>& args) {
  switch (op) {
    case plan::ADD:
    case plan::MAXIMUM:
    case plan::OR:
      return fmt::format("bool({} | {})", args[0], args[1]);
    case plan::MULTIPLY:
    case plan::MINIMUM:
    case plan::AND:
      return fmt::format("bool({} & {})", args[0], args[1]);
    case plan::XOR:
      return fmt::format("{} != {}", args[0], args[1]);
    case plan::NOT:
      return "!" + args[0];
    case plan::CLAMP:
      return fmt::format("bool(({} | {}) & {})", args[1], args[0], args[2]);
    default:
      SPMD_UNREACHABLE("{} of booleans is not compiled", plan::ScalarOp_Name(op));
  }
}

std::string comparison(plan::Comparison comparison, const std::vector<std::string>& args) {
  static constexpr std::string_view kOperators[] = {"==", "!=", "<", "<=", ">", ">="};
  if (comparison < plan::EQ_TOTAL)
    return fmt::format("{} {} {}", args[0], kOperators[comparison], args[1]);
  return fmt::format("compare_total<{}>({}, {}) != 0", comparison - plan::EQ_TOTAL, args[0],
                     args[1]);
}

// To a float of 16 bits: before it is rounded.
std::string conversion(plan::DType from, plan::DType to, const std::string& x) {
  if (to == plan::BOOL) return x + " != 0";
  if (is_half(to)) {
    const bool fits = is_half(from) || from == plan::F32 || plan::byte_size(from) <= 2;
    return fits ? fmt::format("float({})", x) : fmt::format("double_to_float_odd(double({}))", x);
  }
  if (from == plan::BOOL) return fmt::format("{}({})", register_type(to), x);
  if (is_half(from) && to == plan::F32) return x;
  return fmt::format("convert<{}>({})", register_type(to), x);
}

// The bits of a value as the unsigned integer that is stored.
std::string bitcast(plan::DType from, plan::DType to, const std::string& x) {
  if (from == to) return x;
  const std::string stored = to_store(from, x);
  if (to == plan::BOOL) return fmt::format("{} != 0", stored);
  if (is_half(to)) return loaded(to, fmt::format("bits_of<uint16_t>({})", stored));
  return fmt::format("bits_of<{}>({})", register_type(to), stored);
}

// With a point or exponent, so that it is no integer, and with parentheses around a sign.
template <typename T>
std::string decimal(T value, std::string_view suffix) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  text += suffix;
  return std::signbit(value) ? fmt::format("({})", text) : text;
}

std::string float_literal(float value) {
  if (!std::isfinite(value)) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return fmt::format("bits_of<float>(0x{:x}u)", bits);
  }
  return decimal(value, "f");
}

std::string double_literal(double value) {
  if (!std::isfinite(value)) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return fmt::format("bits_of<double>(uint64_t(0x{:x}u))", bits);
  }
  return decimal(value, "");
}

template <typename T>
T element(const std::string& bytes) {
  T value{};
  SPMD_CHECK(bytes.size() == sizeof value);
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <typename T>
std::string integer_literal(plan::DType dtype, T value) {
  // The lowest number has no literal of its own: it is that of a positive number, negated.
  if constexpr (sizeof(T) == 8)
    return fmt::format("{}({}u)", register_type(dtype), static_cast<uint64_t>(value));
  else if constexpr (sizeof(T) == 4)
    return fmt::format("{}({}u)", register_type(dtype), static_cast<uint32_t>(value));
  else
    return fmt::format("{}({})", register_type(dtype), static_cast<int>(value));
}

}  // namespace

std::string_view register_type(plan::DType dtype) {
  switch (dtype) {
    case plan::BOOL:
      return "bool";
    case plan::F16:
    case plan::BF16:
    case plan::F32:
      return "float";
    default:
      return stored_type(dtype);
  }
}

std::string_view stored_type(plan::DType dtype) {
  switch (dtype) {
    case plan::S8:
      return "int8_t";
    case plan::S16:
      return "int16_t";
    case plan::S32:
      return "int32_t";
    case plan::S64:
      return "int64_t";
    case plan::BOOL:
    case plan::U8:
      return "uint8_t";
    case plan::F16:
    case plan::BF16:
    case plan::U16:
      return "uint16_t";
    case plan::U32:
      return "uint32_t";
    case plan::U64:
      return "uint64_t";
    case plan::F32:
      return "float";
    case plan::F64:
      return "double";
    default:
      SPMD_UNREACHABLE("{} is not compiled", plan::dtype_name(dtype));
  }
}

std::string loaded(plan::DType dtype, const std::string& text) {
  if (dtype == plan::BOOL) return text + " != 0";
  if (!is_half(dtype)) return text;
  return fmt::format("{}({})", dtype == plan::F16 ? "widen_f16" : "widen_bf16", text);
}

std::string to_store(plan::DType dtype, const std::string& text) {
  if (dtype == plan::BOOL) return fmt::format("uint8_t({})", text);
  if (!is_half(dtype)) return text;
  return fmt::format("{}({})", dtype == plan::F16 ? "narrow_f16" : "narrow_bf16", text);
}

std::string literal(plan::DType dtype, const std::string& bytes) {
  switch (dtype) {
    case plan::BOOL:
      return element<uint8_t>(bytes) ? "true" : "false";
    case plan::F16:
      return float_literal(f16_to_float(element<uint16_t>(bytes)));
    case plan::BF16:
      return float_literal(bf16_to_float(element<uint16_t>(bytes)));
    case plan::F32:
      return float_literal(element<float>(bytes));
    case plan::F64:
      return double_literal(element<double>(bytes));
    case plan::S8:
      return integer_literal(dtype, element<int8_t>(bytes));
    case plan::S16:
      return integer_literal(dtype, element<int16_t>(bytes));
    case plan::S32:
      return integer_literal(dtype, element<int32_t>(bytes));
    case plan::S64:
      return integer_literal(dtype, element<int64_t>(bytes));
    case plan::U8:
      return integer_literal(dtype, element<uint8_t>(bytes));
    case plan::U16:
      return integer_literal(dtype, element<uint16_t>(bytes));
    case plan::U32:
      return integer_literal(dtype, element<uint32_t>(bytes));
    case plan::U64:
      return integer_literal(dtype, element<uint64_t>(bytes));
    default:
      SPMD_UNREACHABLE("{} is not compiled", plan::dtype_name(dtype));
  }
}

namespace {

// Functions of their own for results that are rounded to 16 bits; empty: there is none.
std::string_view half_function(plan::ScalarOp op) {
  switch (op) {
    case plan::DIVIDE:
      return "half_divide";
    case plan::EXPONENTIAL:
      return "half_exponential";
    case plan::LOGISTIC:
      return "half_logistic";
    case plan::TANH:
      return "half_tanh";
    default:
      return "";
  }
}

}  // namespace

std::string expression(const Operation& operation, const std::vector<std::string>& args,
                       const std::vector<plan::DType>& types) {
  const plan::DType dtype = operation.dtype;
  const auto round = [&](const std::string& text) {
    return operation.leaves_rounding ? text : rounded(dtype, text);
  };
  switch (operation.op) {
    case plan::NOP:
      return args[0];
    case plan::COMPARE:
      return comparison(operation.comparison, args);
    case plan::CONVERT:
      if (types[0] == dtype) return args[0];
      return round(conversion(types[0], dtype, args[0]));
    case plan::BITCAST_CONVERT:
      return bitcast(types[0], dtype, args[0]);
    case plan::SELECT:
      return fmt::format("{} ? {} : {}", args[0], args[1], args[2]);
    case plan::IS_FINITE:
      return call("finite", args) + " != 0";
    case plan::REDUCE_PRECISION:
      return round(fmt::format("with_precision({}, {})", args[0], operation.immediate));
    default:
      break;
  }
  if (dtype == plan::BOOL) return boolean(operation.op, args);
  std::string text;
  if (operation.has_half_functions && is_half(dtype) && !half_function(operation.op).empty())
    return round(call(half_function(operation.op), args));
  if (plan::is_float(dtype)) {
    if (operation.op == plan::ADD) text = fmt::format("{} + {}", args[0], args[1]);
    if (operation.op == plan::SUBTRACT) text = fmt::format("{} - {}", args[0], args[1]);
    if (operation.op == plan::MULTIPLY) text = fmt::format("{} * {}", args[0], args[1]);
    if (operation.op == plan::DIVIDE) text = fmt::format("{} / {}", args[0], args[1]);
    if (operation.op == plan::NEGATE) text = fmt::format("-{}", args[0]);
  }
  if (text.empty()) text = call(function_name(operation.op, plan::is_float(dtype)), args);
  return is_exact(operation.op) ? text : round(text);
}

std::string from_index(plan::DType dtype, const std::string& index) {
  return rounded(dtype, fmt::format("convert<{}>({})", register_type(dtype), index));
}

std::string identity(plan::ScalarOp op, plan::DType dtype) {
  const bool is_float = plan::is_float(dtype), is_double = dtype == plan::F64;
  if (dtype == plan::BOOL)
    return op == plan::MULTIPLY || op == plan::MINIMUM || op == plan::AND ? "true" : "false";
  const std::string_view type = register_type(dtype);
  switch (op) {
    case plan::ADD:
      return is_float ? (is_double ? "-0.0" : "-0.0f") : fmt::format("{}(0)", type);
    case plan::MULTIPLY:
      return fmt::format("{}(1)", type);
    case plan::MAXIMUM:
    case plan::MINIMUM: {
      const int sign = op == plan::MAXIMUM ? -1 : 1;
      if (is_double) return double_literal(sign * std::numeric_limits<double>::infinity());
      if (is_float) return float_literal(float(sign) * std::numeric_limits<float>::infinity());
      return fmt::format("{}<{}>()", sign < 0 ? "lowest" : "highest", type);
    }
    case plan::AND:
      return fmt::format("{}(-1)", type);
    case plan::OR:
    case plan::XOR:
      return fmt::format("{}(0)", type);
    default:
      SPMD_UNREACHABLE("{} names no reduction", plan::ScalarOp_Name(op));
  }
}

}  // namespace spmd::codegen::kernels
