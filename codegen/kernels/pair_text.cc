#include "codegen/kernels/pair_text.h"

#include <fmt/format.h>

#include <cstring>

#include "support/error.h"

namespace spmd::codegen::kernels {
namespace {

std::string_view suffix(plan::DType dtype) { return dtype == plan::F16 ? "f16" : "bf16"; }

}  // namespace

bool has_pairs(plan::DType dtype) { return dtype == plan::F16 || dtype == plan::BF16; }

std::string pair_of(plan::DType dtype, const std::string& low, const std::string& high) {
  return fmt::format("pair_{}({}, {})", suffix(dtype), low, high);
}

std::string pair_literal(const std::string& bytes) {
  uint16_t element = 0;
  SPMD_CHECK(bytes.size() == sizeof element);
  std::memcpy(&element, bytes.data(), sizeof element);
  return fmt::format("0x{0:04x}{0:04x}u", element);
}

std::string element_of_pair(plan::DType dtype, const std::string& pair, int element) {
  return fmt::format("{}_{}({})", element == 0 ? "low" : "high", suffix(dtype), pair);
}

std::string pair_expression(plan::ScalarOp op, plan::DType dtype,
                            const std::vector<std::string>& pairs) {
  const auto call = [&](std::string_view name) {
    return fmt::format("{}_{}({}, {})", name, suffix(dtype), pairs[0], pairs[1]);
  };
  switch (op) {
    case plan::ADD:
      return call("add_pairs");
    case plan::SUBTRACT:
      return call("subtract_pairs");
    case plan::MULTIPLY:
      return call("multiply_pairs");
    case plan::NEGATE:
      return fmt::format("{} ^ 0x80008000u", pairs[0]);
    case plan::ABS:
      return fmt::format("{} & 0x7fff7fffu", pairs[0]);
    case plan::NOP:
      return pairs[0];
    default:
      return "";
  }
}

}  // namespace spmd::codegen::kernels
