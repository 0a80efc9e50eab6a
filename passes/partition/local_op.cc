#include "passes/partition/local_op.h"

namespace spmd {

AtomList LocalOp::operand_axes(size_t operand, int64_t dim) const {
  return place(rule, rule.operands[operand], assignment, atoms).dims[static_cast<size_t>(dim)];
}

LocalResult create_local(LocalOp& local) {
  switch (local.op.code) {
    case OpCode::kGather:
      return {{create_local_gather(local)}, OpId::kNone};
    case OpCode::kScatter:
      return create_local_scatter(local);
    case OpCode::kDynamicSlice:
      return {{create_local_dynamic_slice(local)}, OpId::kNone};
    case OpCode::kDynamicUpdateSlice:
      return {{create_local_dynamic_update_slice(local)}, OpId::kNone};
    case OpCode::kConvolution:
      localize_convolution(local);
      break;
    case OpCode::kSlice:
      localize_slice(local);
      break;
    default:
      break;
  }
  const OpId created = local.builder.create(local.op.code, std::move(local.operands),
                                            std::move(local.types), std::move(local.attrs));
  return {local.builder.function().op(created).results, created};
}

}  // namespace spmd
