#include "codegen/uses.h"

#include <algorithm>

namespace spmd::codegen {
namespace {

bool keeps_order(const Function& fn, const Op& op, const Dims& dims, const Dims& sizes) {
  if (fn.type(op.operands[0]).num_elements() != fn.type(op.results[0]).num_elements()) return false;
  int64_t previous = -1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (dims[d] < previous) return false;
    previous = dims[d];
  }
  return true;
}

class UseAnalysis {
 public:
  explicit UseAnalysis(const Function& fn) : fn_(fn), uses_(fn.num_value_ids()) {}

  std::vector<ValueUses> run() {
    visit(fn_.body());
    return std::move(uses_);
  }

 private:
  // Users before what they use, so that the demand on a view's result is known.
  void visit(BlockId block) {
    for (OpId id = fn_.terminator(block); id != OpId::kNone; id = fn_.op(id).prev) {
      for (ValueId result : fn_.op(id).results) summarize(result, block);
      for (BlockId region : fn_.op(id).regions) visit(region);
    }
    for (ValueId arg : fn_.block(block).args) summarize(arg, block);
  }

  void summarize(ValueId value, BlockId block) {
    ValueUses& summary = uses_[index_of(value)];
    for (const Use& use : fn_.value(value).uses) {
      const Op& user = fn_.op(use.op);
      summary.demand = std::min(kMemoryDemand, summary.demand + demand(user, use, block, summary));
    }
  }

  int64_t demand(const Op& user, const Use& use, BlockId block, ValueUses& summary) {
    if (user.block != block) return kMemoryDemand;
    if (is_view(user)) {
      summary.by_view =
          summary.by_view || !is_relabeling(fn_, user) || uses_[index_of(user.results[0])].by_view;
      return uses_[index_of(user.results[0])].demand;
    }
    if (family_of(user.code) == OpFamily::kElementwise)
      return fn_.type(user.results[0]).num_elements();
    if (user.code == OpCode::kConcatenate || user.code == OpCode::kPad)
      return fn_.type(user.operands[use.operand]).num_elements();
    return kMemoryDemand;
  }

  const Function& fn_;
  std::vector<ValueUses> uses_;
};

}  // namespace

std::vector<ValueUses> analyze_uses(const Function& fn) { return UseAnalysis(fn).run(); }

bool is_view(const Op& op) {
  switch (op.code) {
    case OpCode::kReshape:
    case OpCode::kBroadcastInDim:
    case OpCode::kTranspose:
    case OpCode::kSlice:
    case OpCode::kReverse:
      return true;
    default:
      return false;
  }
}

bool is_relabeling(const Function& fn, const Op& op) {
  switch (op.code) {
    case OpCode::kReshape:
      return true;
    case OpCode::kBroadcastInDim:
      return keeps_order(fn, op, op.as<BroadcastInDimAttrs>().dims, fn.type(op.operands[0]).shape);
    case OpCode::kTranspose:
      return keeps_order(fn, op, op.as<TransposeAttrs>().permutation, fn.type(op.results[0]).shape);
    case OpCode::kSlice:
      return fn.type(op.operands[0]) == fn.type(op.results[0]);
    default:
      return false;
  }
}

}  // namespace spmd::codegen
