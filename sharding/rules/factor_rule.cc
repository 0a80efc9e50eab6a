#include "sharding/rules/factor_rule.h"

#include <algorithm>

#include "sharding/rules/rules.h"
#include "support/error.h"

namespace spmd {

int FactorRule::add_factor(int64_t size, FactorKind kind) {
  factors.push_back({size, kind});
  return static_cast<int>(factors.size()) - 1;
}

int FactorRule::add_exchanged(int64_t size, FactorKind kind) {
  factors.push_back({size, kind, /*exchanged=*/true});
  return static_cast<int>(factors.size()) - 1;
}

int FactorRule::add_kept(int64_t size) {
  factors.push_back({size, FactorKind::kNeedReplication, /*exchanged=*/false, /*kept=*/true});
  return static_cast<int>(factors.size()) - 1;
}

namespace {

std::string factor_name(int factor) {
  return factor < 17 ? std::string(1, static_cast<char>('i' + factor))
                     : fmt::format("z_{}", factor - 16);
}

std::string tensor_text(const TensorFactors& tensor) {
  std::string text = "[";
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (d > 0) text += ", ";
    for (int factor : tensor.dims[d]) text += factor_name(factor);
    if (tensor.dims[d].empty()) text += "1";
  }
  return text + "]";
}

std::string tensors_text(const std::vector<TensorFactors>& tensors) {
  std::string text = "(";
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i > 0) text += ", ";
    text += tensor_text(tensors[i]);
  }
  return text + ")";
}

}  // namespace

std::string FactorRule::to_string() const {
  std::string text = tensors_text(operands) + "->" + tensors_text(results) + " {";
  for (size_t f = 0; f < factors.size(); ++f) {
    text += fmt::format("{}{}={}", f > 0 ? ", " : "", factor_name(static_cast<int>(f)),
                        factors[f].size);
  }
  text += "}";
  const auto list = [&](const char* name, auto&& has) {
    std::string names;
    for (size_t f = 0; f < factors.size(); ++f) {
      if (!has(factors[f])) continue;
      names += (names.empty() ? "" : ", ") + factor_name(static_cast<int>(f));
    }
    if (!names.empty()) text += fmt::format(" {}={{{}}}", name, names);
  };
  const auto is = [](FactorKind kind) {
    return [kind](const Factor& factor) { return factor.kind == kind; };
  };
  list("reduction", is(FactorKind::kReduction));
  list("indexed", is(FactorKind::kIndexed));
  list("exchanged", [](const Factor& factor) { return factor.exchanged; });
  list("need_replication", is(FactorKind::kNeedReplication));
  list("kept", [](const Factor& factor) { return factor.kept; });
  return text;
}

std::optional<ReductionKind> reduction_kind(OpCode reducer) {
  switch (reducer) {
    case OpCode::kAdd:
      return ReductionKind::kSum;
    case OpCode::kMaximum:
      return ReductionKind::kMax;
    case OpCode::kMinimum:
      return ReductionKind::kMin;
    case OpCode::kMultiply:
      return ReductionKind::kProduct;
    case OpCode::kAnd:
      return ReductionKind::kAnd;
    case OpCode::kOr:
      return ReductionKind::kOr;
    default:
      return std::nullopt;
  }
}

OpCode reducer_opcode(ReductionKind kind, DType) {
  switch (kind) {
    case ReductionKind::kSum:
      return OpCode::kAdd;
    case ReductionKind::kMax:
      return OpCode::kMaximum;
    case ReductionKind::kMin:
      return OpCode::kMinimum;
    case ReductionKind::kProduct:
      return OpCode::kMultiply;
    case ReductionKind::kAnd:
      return OpCode::kAnd;
    case ReductionKind::kOr:
      return OpCode::kOr;
  }
  return OpCode::kAdd;
}

ValueId joined_source(const Function& fn, ValueId operand, int64_t dim) {
  while (const Op* op = fn.def(operand)) {
    if (op->code != OpCode::kSlice) break;
    const auto& slice = op->as<SliceAttrs>();
    for (size_t d = 0; d < slice.start.size(); ++d) {
      const bool whole = slice.start[d] == 0 && slice.limit[d] == fn.type(op->operands[0]).shape[d];
      if (slice.stride[d] != 1 || (d != static_cast<size_t>(dim) && !whole)) return operand;
    }
    operand = op->operands[0];
  }
  return operand;
}

namespace rules {

FactorRule empty_rule(const Function& fn, const Op& op) {
  FactorRule rule;
  rule.operands.reserve(op.operands.size());
  rule.results.reserve(op.results.size());
  for (ValueId operand : op.operands) {
    rule.operands.push_back({std::vector<DimFactors>(fn.type(operand).shape.size())});
  }
  for (ValueId result : op.results) {
    rule.results.push_back({std::vector<DimFactors>(fn.type(result).shape.size())});
  }
  return rule;
}

void replicate_rest(const Function& fn, const Op& op, FactorRule& rule) {
  const auto fill = [&](TensorFactors& tensor, ValueId value) {
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      const int64_t size = fn.type(value).shape[d];
      if (tensor.dims[d].empty() && size != 1) {
        tensor.dims[d].push_back(rule.add_factor(size, FactorKind::kNeedReplication));
      }
    }
  };
  for (size_t i = 0; i < op.operands.size(); ++i) fill(rule.operands[i], op.operands[i]);
  for (size_t i = 0; i < op.results.size(); ++i) fill(rule.results[i], op.results[i]);
}

namespace {

std::optional<FactorRule> rule_of_family(const Function& fn, const Op& op) {
  switch (family_of(op.code)) {
    case OpFamily::kElementwise:
      return rules::elementwise(fn, op);
    case OpFamily::kShape:
      return rules::shape(fn, op);
    case OpFamily::kContraction:
      return rules::contraction(fn, op);
    case OpFamily::kAttention:
      return rules::attention(fn, op);
    case OpFamily::kConvolution:
      return rules::convolution(fn, op);
    case OpFamily::kLinalg:
      return rules::linalg(fn, op);
    case OpFamily::kReduction:
      return rules::reduction(fn, op);
    case OpFamily::kIndexing:
      return rules::indexing(fn, op);
    case OpFamily::kWindow:
      return rules::window(fn, op);
    case OpFamily::kOrdering:
      return rules::ordering(fn, op);
    case OpFamily::kRandom:
      return rules::random(fn, op);
    case OpFamily::kControlFlow:
    case OpFamily::kCollective:
    case OpFamily::kExpanded:
      return std::nullopt;
  }
  return std::nullopt;
}

// f8E8M0FNU has no zero: a block that has nothing to add has no value.
bool lacks_zero(const Function& fn, const Op& op) {
  return std::any_of(op.results.begin(), op.results.end(),
                     [&](ValueId result) { return fn.type(result).dtype == DType::kF8E8M0FNU; });
}

}  // namespace
}  // namespace rules

std::optional<FactorRule> factor_rule(const Function& fn, OpId id) {
  const Op& op = fn.op(id);
  std::optional<FactorRule> rule = rules::rule_of_family(fn, op);
  if (!rule || !rules::lacks_zero(fn, op)) return rule;
  rule->linear_operands.clear();
  for (Factor& factor : rule->factors) {
    if (factor.kind != FactorKind::kPassThrough) factor.kind = FactorKind::kNeedReplication;
  }
  return rule;
}

}  // namespace spmd
