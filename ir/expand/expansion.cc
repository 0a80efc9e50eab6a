#include "ir/expand/expansion.h"

#include <algorithm>

#include "ir/evaluator.h"
#include "support/error.h"

namespace spmd::expand {
namespace {

// Shape computations are short; more is no shape.
constexpr int kMaxDepth = 200;
constexpr int64_t kMaxElements = 1 << 16;

std::optional<Literal> value_of(const Module& module, const Function& fn, ValueId value,
                                int depth) {
  const OpId id = fn.value(value).def;
  if (id == OpId::kNone || depth > kMaxDepth) return std::nullopt;
  const Op& op = fn.op(id);
  if (op.code == OpCode::kConstant) return op.as<ConstantAttrs>().value;
  const OpFamily family = family_of(op.code);
  const bool pure = family == OpFamily::kElementwise || family == OpFamily::kShape ||
                    family == OpFamily::kIndexing || family == OpFamily::kContraction ||
                    op.code == OpCode::kReduce;
  if (!pure || op.code == OpCode::kScatter || op.results.size() != 1) return std::nullopt;
  for (int64_t size : fn.type(value).shape) {
    if (size < 0) return std::nullopt;
  }
  if (fn.type(value).num_elements() > kMaxElements) return std::nullopt;
  std::vector<Literal> operands;
  for (ValueId operand : op.operands) {
    auto known = value_of(module, fn, operand, depth + 1);
    if (!known) return std::nullopt;
    operands.push_back(std::move(*known));
  }
  return evaluate_op(module, fn, id, operands)[0];
}

}  // namespace

std::optional<Literal> constant_value(const Module& module, const Function& fn, ValueId value) {
  return value_of(module, fn, value, 0);
}

ValueId Expansion::operand(size_t index) const {
  if (index >= op().operands.size()) {
    fail(fmt::format("found {} operands, expected more", op().operands.size()));
  }
  return op().operands[index];
}

void Expansion::fail(const std::string& fact, const std::string& remedy) const {
  const LocationRef& location = op().location;
  throw UserError(location ? location->to_string() : module.source,
                  fmt::format("{}: {}", name_of(op().code), fact), remedy);
}

Dims Expansion::integers(size_t index, const char* what) const {
  const std::optional<Literal> value = constant_value(module, fn, operand(index));
  if (!value || !is_integer(value->type().dtype)) {
    fail(fmt::format("{} (operand {}) cannot be known before running", what, index),
         "sizes must follow from constants: export the program for fixed shapes");
  }
  Dims values;
  for (int64_t i = 0; i < value->type().num_elements(); ++i) values.push_back(value->as_int(i));
  return values;
}

Dims Expansion::result_shape(size_t operand_index) const {
  const Dims& stated = result_type().shape;
  const bool known = std::none_of(stated.begin(), stated.end(), [](int64_t n) { return n < 0; });
  return known ? stated : integers(operand_index, "the shape of the result");
}

ValueId Expansion::bits_like(ValueId x, uint64_t bits) {
  return b.constant(Literal::splat(type(x), static_cast<const void*>(&bits)));
}

ValueId Expansion::bitcast(ValueId x, DType dtype) {
  const TensorType to = type(x).with_dtype(dtype);
  return fn.op(b.create(OpCode::kBitcastConvert, {x}, {to})).results[0];
}

}  // namespace spmd::expand
