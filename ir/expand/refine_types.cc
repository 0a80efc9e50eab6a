// Sizes that a file leaves open, where they follow from operands whose sizes are known by now.
#include <algorithm>

#include "ir/expand/expansion.h"
#include "support/error.h"

namespace spmd::expand {
namespace {

bool is_dynamic(const TensorType& type) {
  return std::any_of(type.shape.begin(), type.shape.end(), [](int64_t size) { return size < 0; });
}

// Takes over the sizes of `from`, when it has as many dimensions.
void refine(Function& fn, ValueId value, const TensorType& from) {
  TensorType& type = fn.value(value).type;
  if (is_dynamic(type) && type.rank() == from.rank()) type.shape = from.shape;
}

void refine_inferred(Function& fn, OpId id) {
  const Op& op = fn.op(id);
  switch (op.code) {
    case OpCode::kConvert:
    case OpCode::kCustomCall:
      if (op.operands.size() == 1) refine(fn, op.results[0], fn.type(op.operands[0]));
      return;
    case OpCode::kBroadcastInDim:
    case OpCode::kReshape:
    case OpCode::kBitcastConvert:
    case OpCode::kIota:
    case OpCode::kRngBitGenerator:
    case OpCode::kAllGather:
    case OpCode::kAllToAll:
    case OpCode::kReduceScatter:
    case OpCode::kManualComputation:
      return;
    default:
      break;
  }
  try {
    const std::vector<TensorType> types = infer_types(fn, op.code, op.operands, op.attrs);
    for (size_t i = 0; i < types.size() && i < op.results.size(); ++i) {
      refine(fn, op.results[i], types[i]);
    }
  } catch (const UserError&) {
    // The verifier says it, with the op's place.
  }
}

}  // namespace

void refine_types(const Module& module, Function& fn, OpId id) {
  const Op& op = fn.op(id);
  const auto open = [&](ValueId value) { return is_dynamic(fn.type(value)); };
  switch (op.code) {
    case OpCode::kWhile:
      for (size_t i = 0; i < op.operands.size() && i < op.results.size(); ++i) {
        const TensorType& type = fn.type(op.operands[i]);
        for (BlockId region : op.regions) {
          if (i < fn.block(region).args.size()) refine(fn, fn.block(region).args[i], type);
        }
        refine(fn, op.results[i], type);
      }
      return;
    case OpCode::kCall: {
      const Function& callee = module.function(op.as<CallAttrs>().callee);
      if (callee.block(callee.body()).last == OpId::kNone) return;
      for (size_t i = 0; i < op.results.size() && i < callee.results().size(); ++i) {
        refine(fn, op.results[i], callee.type(callee.results()[i]));
      }
      return;
    }
    case OpCode::kIf:
    case OpCode::kCase:
      for (BlockId region : op.regions) {
        const ValueIds& values = fn.op(fn.terminator(region)).operands;
        for (size_t i = 0; i < op.results.size() && i < values.size(); ++i) {
          refine(fn, op.results[i], fn.type(values[i]));
        }
      }
      return;
    default:
      if (family_of(op.code) == OpFamily::kExpanded || op.code == OpCode::kReturn) return;
      if (std::any_of(op.results.begin(), op.results.end(), open)) refine_inferred(fn, id);
  }
}

}  // namespace spmd::expand
