#include "passes/analysis/collective_reason.h"

#include <fmt/format.h>

#include "ir/describe.h"

namespace spmd {
namespace {

constexpr int kMaxSteps = 32;  // a bound on how far an end is looked for

// Ops that move or copy what they are given: the reason for communication lies behind them.
bool passes_through(const Op& op) {
  switch (op.code) {
    case OpCode::kConvert:
    case OpCode::kReshape:
    case OpCode::kTranspose:
    case OpCode::kSlice:
    case OpCode::kPad:
    case OpCode::kBroadcastInDim:
    case OpCode::kDynamicSlice:
    case OpCode::kOptimizationBarrier:
      return true;
    default:
      return family_of(op.code) == OpFamily::kCollective && op.operands.size() == 1;
  }
}

std::string source_of(const Function& fn, ValueId value) {
  const Op* op = fn.def(value);
  for (int i = 0; i < kMaxSteps && op != nullptr && passes_through(*op); ++i) {
    value = op->operands[0];
    op = fn.def(value);
  }
  if (op != nullptr) return place_of(*op);
  const auto& arguments = fn.arguments();
  const auto found = std::find(arguments.begin(), arguments.end(), value);
  if (found == arguments.end()) return "a value that a loop carries";
  return name_of_argument(fn, static_cast<size_t>(found - arguments.begin()));
}

std::string user_of(const Function& fn, ValueId value) {
  for (int i = 0; i < kMaxSteps; ++i) {
    const Value& def = fn.value(value);
    if (def.uses.empty()) return "nothing";
    const Use& use = def.uses.front();
    const Op& op = fn.op(use.op);
    if (op.code == OpCode::kReturn) {
      return fn.block(op.block).parent == OpId::kNone ? name_of_result(fn, use.operand)
                                                      : "the next trip of a loop";
    }
    if (!passes_through(op) || op.results.empty()) {
      return fmt::format("{} (operand {})", place_of(op), use.operand);
    }
    value = op.results[0];
  }
  return "what follows";
}

}  // namespace

std::string reason_of(const Module& module, OpId collective) {
  const Function& fn = module.main();
  const Op& op = fn.op(collective);
  const bool adds_up = op.code == OpCode::kAllReduce || op.code == OpCode::kReduceScatter;
  return fmt::format("{}{}, for {}", adds_up ? "parts of " : "", source_of(fn, op.operands[0]),
                     user_of(fn, op.results[0]));
}

}  // namespace spmd
