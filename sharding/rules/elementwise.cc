#include "sharding/rules/rules.h"

namespace spmd::rules {
namespace {

// Operands in which the op is linear, given that the others are not partial.
std::vector<int> linear_operands(const Function& fn, const Op& op) {
  switch (op.code) {
    case OpCode::kAdd:
    case OpCode::kSubtract:
      return {0, 1};
    case OpCode::kImag:
    case OpCode::kNegate:
    case OpCode::kReal:
      return {0};
    case OpCode::kComplex:
      return {0, 1};
    case OpCode::kConvert:
      // Between floats; rounding commutes with the sum up to rounding, integers could overflow.
      return is_float(fn.type(op.operands[0]).dtype) && is_float(fn.type(op.results[0]).dtype)
                 ? std::vector<int>{0}
                 : std::vector<int>{};
    case OpCode::kMultiply:
      return is_float(fn.type(op.results[0]).dtype) ? std::vector<int>{0, 1} : std::vector<int>{};
    case OpCode::kDivide:
      return is_float(fn.type(op.results[0]).dtype) ? std::vector<int>{0} : std::vector<int>{};
    case OpCode::kSelect:
      return {1, 2};
    default:
      return {};
  }
}

}  // namespace

FactorRule elementwise(const Function& fn, const Op& op) {
  FactorRule rule = empty_rule(fn, op);
  const TensorType& result = fn.type(op.results[0]);
  rule.factors.reserve(result.shape.size());
  for (int64_t d = 0; d < result.rank(); ++d) {
    const int factor = rule.add_factor(result.dim(d));
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (fn.type(op.operands[i]).rank() == result.rank()) put(rule.operands[i], d, factor);
    }
    put(rule.results[0], d, factor);
  }
  rule.linear_operands = linear_operands(fn, op);
  rule.linear_in_each = op.code == OpCode::kMultiply;
  return rule;
}

}  // namespace spmd::rules
