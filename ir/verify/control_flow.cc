#include "ir/verify/families.h"

namespace spmd::verifier {
namespace {

const TensorType kPredicate{DType::kBool, {}};
const TensorType kBranchIndex{DType::kS32, {}};

void verify_while(const OpView& v) {
  const Types carried = v.types(v.op.operands);
  v.require_region(0, "the condition", carried, {kPredicate});
  v.require_region(1, "the body", carried, carried);
}

void verify_branches(const OpView& v) {
  const bool is_if = v.op.code == OpCode::kIf;
  v.require(v.op.operands.size() == 1, "has {} operands, expected {}", v.op.operands.size(),
            is_if ? "the predicate" : "the index of a branch");
  v.require(!v.op.regions.empty(), "has no branches, expected at least one");
  if (is_if) {
    v.require_type("the predicate", v.operand(0), kPredicate);
  } else {
    v.require_type("the index of a branch", v.operand(0), kBranchIndex);
  }
  const Types results = v.types(v.op.results);
  for (size_t i = 0; i < v.op.regions.size(); ++i) {
    v.require_region(i, fmt::format("branch {}", i), {}, results);
  }
}

void verify_call(const OpView& v) {
  const int callee = v.op.as<CallAttrs>().callee;
  v.require(callee >= 0 && static_cast<size_t>(callee) < v.module.functions().size(),
            "calls function {} of {}", callee, v.module.functions().size());
  const Function& called = v.module.function(callee);
  const Block& body = called.block(called.body());
  v.require(body.last != OpId::kNone, "calls @{}, which has no body", called.name());
  const auto agree = [&](const char* what, const std::vector<ValueId>& own,
                         const std::vector<ValueId>& theirs) {
    v.require(own.size() == theirs.size(),
              "does not match the signature of @{}: {} {}s, expected {}", called.name(), own.size(),
              what, theirs.size());
    for (size_t i = 0; i < own.size(); ++i) {
      v.require(v.fn.type(own[i]) == called.type(theirs[i]),
                "does not match the signature of @{}: {} {} is {}, expected {}", called.name(),
                what, i, v.fn.type(own[i]), called.type(theirs[i]));
    }
  };
  agree("operand", v.op.operands, body.args);
  agree("result", v.op.results, called.op(body.last).operands);
}

// Of the targets whose meaning is known: results are the operands.
void verify_custom_call(const OpView& v) {
  if (v.op.as<CustomCallAttrs>().target != "Sharding") return;
  v.require_counts(v.op.operands.size(), v.op.operands.size());
  for (size_t i = 0; i < v.op.operands.size(); ++i) {
    v.require_type("a result", v.result(i), v.operand(i));
  }
}

}  // namespace

void verify_control_flow(const OpView& v) {
  switch (v.op.code) {
    case OpCode::kWhile:
      return verify_while(v);
    case OpCode::kIf:
    case OpCode::kCase:
      return verify_branches(v);
    case OpCode::kCall:
      return verify_call(v);
    case OpCode::kCustomCall:
      return verify_custom_call(v);
    default:
      return;
  }
}

}  // namespace spmd::verifier
