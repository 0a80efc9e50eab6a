// Every elementwise op on every element type that the verifier allows: there is a kernel for it,
// and it gives what the evaluator gives. Likewise reductions, products and bitcasts.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "ir/literal.h"
#include "ir/text.h"
#include "support/error.h"
#include "tests/codegen/compiled_cases.h"
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

std::vector<DType> element_types() {
  std::vector<DType> types;
#define SPMD_ADD(name, text, bits, kind) types.push_back(DType::name);
  SPMD_DTYPES(SPMD_ADD)
#undef SPMD_ADD
  std::erase(types, DType::kToken);
  return types;
}

constexpr int64_t kElements = 12;

std::string tensor(DType dtype) { return fmt::format("tensor<{}x{}>", kElements, name_of(dtype)); }

// Numbers with signs, zeros and, of floats, infinities and NaN; `turn` starts elsewhere in the
// list.
Literal values_of(DType dtype, int64_t turn, bool finite) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> reals = {0.5,
                                     -1.5,
                                     2,
                                     -0.5,
                                     0,
                                     1,
                                     -3,
                                     0.25,
                                     -0.0,
                                     -1,
                                     finite ? 3 : infinity,
                                     finite ? -2 : std::numeric_limits<double>::quiet_NaN()};
  const std::vector<double> integers = {5, -1, 0, 1, -8, 7, 3, -2, 2, 6, -7, 4};
  const bool real = is_float(dtype) || is_complex(dtype);
  Literal result({dtype, {kElements}});
  std::byte* to = result.mutable_data();
  for (int64_t i = 0; i < kElements; ++i) {
    double value = (real ? reals : integers)[static_cast<size_t>((i + turn) % kElements)];
    if (is_unsigned_int(dtype)) value = std::fabs(value);
    if (is_sub_byte_int(dtype)) value = std::fmod(value, std::ldexp(1.0, bit_width(dtype) - 1));
    if (dtype == DType::kBool) value = (i + turn) % 3 == 0;
    const Literal element = Literal::splat({dtype, {}}, value);
    std::memcpy(to, element.data(), element.stored_bytes());
    if (is_complex(dtype)) {  // another number as the imaginary part
      const double other = reals[static_cast<size_t>((i + turn + 5) % (kElements - 2))];
      const bool single = dtype == DType::kC64;
      const float narrow = static_cast<float>(other);
      std::memcpy(to + (single ? 4 : 8), single ? static_cast<const void*>(&narrow) : &other,
                  single ? 4 : 8);
    }
    to += element.stored_bytes();
  }
  return result;
}

// Two units in the last place of the narrower types; the others call different libraries.
double tolerance_of(DType dtype) {
  if (dtype == DType::kF16) return 2e-3;
  if (dtype == DType::kBF16) return 1.6e-2;
  if (dtype == DType::kF64 || dtype == DType::kC128) return 1e-12;
  if (is_float(dtype) && byte_size(dtype) == 1) return 0.25;
  return is_integer(dtype) || dtype == DType::kBool ? 0 : 2e-5;
}

// The module `results = op(%a, %b, %c)`, as far as the op takes them; nothing where the verifier
// refuses it. Of complex results both parts are returned.
std::optional<Module> module_with(const std::string& op, const std::string& attributes,
                                  const std::vector<DType>& operands, DType result) {
  std::string arguments, names, types;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string separator = i == 0 ? "" : ", ";
    arguments += fmt::format("{}%a{}: {}", separator, i, tensor(operands[i]));
    names += fmt::format("{}%a{}", separator, i);
    types += separator + tensor(operands[i]);
  }
  std::string body = fmt::format("    %r = \"{}\"({}) {} : ({}) -> {}\n", op, names, attributes,
                                 types, tensor(result));
  std::string returned = "%r", returned_types = tensor(result);
  if (is_complex(result)) {
    const std::string part = tensor(result == DType::kC64 ? DType::kF32 : DType::kF64);
    for (const char* name : {"real", "imag"}) {
      body +=
          fmt::format("    %{0} = stablehlo.{0} %r : ({1}) -> {2}\n", name, tensor(result), part);
    }
    returned = "%real, %imag";
    returned_types = part + ", " + part;
  }
  try {
    return module_of(fmt::format("({}) -> ({})", arguments, returned_types),
                     body + fmt::format("    return {} : {}", returned, returned_types));
  } catch (const UserError&) {
    return std::nullopt;
  }
}

std::vector<Literal> values_for(const Module& module, bool finite) {
  std::vector<Literal> arguments;
  int64_t turn = 0;
  for (ValueId argument : module.main().arguments()) {
    arguments.push_back(values_of(module.main().type(argument).dtype, turn, finite));
    turn += 5;
  }
  return arguments;
}

// Runs `op` on elements of `dtype` in every way that the verifier allows, and says in how many.
int try_op(const std::string& op, const std::string& attributes, DType dtype) {
  int ways = 0;
  std::vector<DType> results = {dtype,       DType::kBool, DType::kF32,
                                DType::kF64, DType::kC64,  DType::kC128};
  std::vector<std::vector<DType>> operands = {
      {dtype}, {dtype, dtype}, {dtype, dtype, dtype}, {DType::kBool, dtype, dtype}};
  if (dtype == DType::kBool) operands.pop_back();
  for (size_t r = 0; r < results.size(); ++r) {
    if (r > 0 && results[r] == dtype) continue;
    for (const std::vector<DType>& types : operands) {
      const auto module = module_with(op, attributes, types, results[r]);
      if (!module) continue;
      SCOPED_TRACE(fmt::format("{} of {}", op, name_of(dtype)));
      expect_meaning(*module, values_for(*module, false), tolerance_of(dtype));
      ++ways;
    }
  }
  return ways;
}

TEST(ElementTypes, ElementwiseOps) {
  const CompiledCases compiled(CompiledCases::Dialect::kCpp, 300);
  int ways = 0;
  for (int i = 0; i < kNumOpCodes; ++i) {
    const auto code = static_cast<OpCode>(i);
    const bool has_own_test = code == OpCode::kConvert || code == OpCode::kCompare;
    if (family_of(code) != OpFamily::kElementwise || has_own_test) continue;
    const std::string attributes = code == OpCode::kReducePrecision
                                       ? "{exponent_bits = 4 : i32, mantissa_bits = 2 : i32}"
                                       : "";
    int of_this_op = 0;
    for (DType dtype : element_types())
      of_this_op += try_op(std::string(name_of(code)), attributes, dtype);
    EXPECT_GT(of_this_op, 0) << name_of(code);
    ways += of_this_op;
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(ways, 900);
}

TEST(ElementTypes, Comparisons) {
  const CompiledCases compiled(CompiledCases::Dialect::kCpp, 100);
  for (DType dtype : element_types()) {
    int ways = 0;
    for (const char* type : {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}) {
      for (const char* direction : {"EQ", "NE", "GE", "GT", "LE", "LT"}) {
        ways += try_op("stablehlo.compare",
                       fmt::format("{{comparison_direction = #stablehlo<comparison_direction {}>, "
                                   "compare_type = #stablehlo<comparison_type {}>}}",
                                   direction, type),
                       dtype);
      }
    }
    EXPECT_EQ(ways, is_complex(dtype) ? 2 : is_float(dtype) ? 12 : 6) << name_of(dtype);
  }
}

// Between all types, infinities and NaN included: what integers cannot hold becomes the nearest
// that they can, and NaN 0.
TEST(ElementTypes, Conversions) {
  const CompiledCases compiled(CompiledCases::Dialect::kCpp, 150);
  const CompiledCases cuda(CompiledCases::Dialect::kCuda, 150);
  for (DType from : element_types()) {
    for (DType to : element_types()) {
      const auto module = module_with("stablehlo.convert", "", {from}, to);
      ASSERT_TRUE(module) << name_of(from) << " to " << name_of(to);
      SCOPED_TRACE(fmt::format("{} to {}", name_of(from), name_of(to)));
      expect_meaning(*module, values_for(*module, false));
    }
  }
}

// Sums, products and extremes over the elements; dots of them with themselves.
TEST(ElementTypes, ReductionsAndDots) {
  const CompiledCases compiled(CompiledCases::Dialect::kCpp, 50);
  const CompiledCases cuda(CompiledCases::Dialect::kCuda, 50);
  for (DType dtype : element_types()) {
    const std::string element(name_of(dtype)), scalar = "tensor<" + element + ">";
    const auto check = [&](const std::string& result, const std::string& body) {
      const Module module = module_of("(%a: " + tensor(dtype) + ") -> " + result,
                                      body + "\n    return %r : " + result);
      expect_meaning(module, values_for(module, true), tolerance_of(dtype));
    };
    const std::string zero = dtype == DType::kF8E8M0FNU ? "dense<1.0>"
                             : is_complex(dtype)        ? "dense<(0.0, 0.0)>"
                             : is_float(dtype)          ? "dense<0.0>"
                             : dtype == DType::kBool    ? "dense<false>"
                                                        : "dense<0>";
    std::vector<std::string> reducers = {"add", "multiply", "maximum", "minimum"};
    if (is_integer(dtype) || dtype == DType::kBool) {
      reducers.insert(reducers.end(), {"and", "or", "xor"});
    }
    for (const std::string& reducer : reducers) {
      SCOPED_TRACE(reducer + " of " + element);
      check(scalar, "    %z = stablehlo.constant " + zero + " : " + scalar +
                        "\n    %r = stablehlo.reduce(%a init: %z) applies stablehlo." + reducer +
                        " across dimensions = [0] : (" + tensor(dtype) + ", " + scalar + ") -> " +
                        scalar);
    }
    SCOPED_TRACE("dot of " + element);
    check(scalar, "    %r = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (" +
                      tensor(dtype) + ", " + tensor(dtype) + ") -> " + scalar);
  }
}

}  // namespace
}  // namespace spmd::testing
