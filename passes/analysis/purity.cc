#include "passes/analysis/purity.h"

#include <unordered_set>

namespace spmd {
namespace {

class Purity {
 public:
  explicit Purity(const Module& module) : module_(module) {}

  bool op(const Function& fn, OpId id) {
    const Op& op = fn.op(id);
    if (op.code == OpCode::kReturn) return false;
    if (op.code == OpCode::kCustomCall) return !op.as<CustomCallAttrs>().has_side_effect;
    if (has_side_effect(op.code)) return false;
    if (op.code == OpCode::kCall && !function(op.as<CallAttrs>().callee)) return false;
    for (BlockId region : op.regions) {
      if (!block(fn, region)) return false;
    }
    return true;
  }

 private:
  bool block(const Function& fn, BlockId id) {
    for (OpId inner = fn.block(id).first; inner != fn.terminator(id); inner = fn.op(inner).next) {
      if (!op(fn, inner)) return false;
    }
    return true;
  }

  bool function(int index) {
    if (!visited_.insert(index).second) return true;  // decided by the visit that is under way
    const Function& fn = module_.function(index);
    return block(fn, fn.body());
  }

  const Module& module_;
  std::unordered_set<int> visited_;
};

}  // namespace

bool is_pure(const Module& module, const Function& fn, OpId id) {
  return Purity(module).op(fn, id);
}

bool has_isolated_regions(OpCode code) {
  switch (code) {
    case OpCode::kWhile:
    case OpCode::kIf:
    case OpCode::kCase:
      return false;
    default:
      return true;
  }
}

}  // namespace spmd
