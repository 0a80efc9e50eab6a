// Result types, by op family.
#include "ir/infer/families.h"
#include "support/error.h"

namespace spmd {
namespace infer {
namespace {

Types infer_control_flow(OpCode code, const Types& in) {
  switch (code) {
    case OpCode::kOptimizationBarrier:
    case OpCode::kWhile:
      return in;
    case OpCode::kReturn:
      return {};
    default:
      SPMD_UNREACHABLE("the type of {} cannot be inferred", name_of(code));
  }
}

Types infer_collective(OpCode code, const Types& in, const Attrs& attrs) {
  switch (code) {
    case OpCode::kAllReduce:
    case OpCode::kCollectivePermute:
    case OpCode::kPropagationBarrier:
    case OpCode::kReshard:
    case OpCode::kShardingConstraint:
      return in;
    case OpCode::kShardingGroup:
      require_count(in, 1);
      return {};
    case OpCode::kAxisIndex:
      return {TensorType{DType::kS32, {}}};
    case OpCode::kPartitionId:
      return {TensorType{DType::kU32, {}}};
    default:
      SPMD_UNREACHABLE("the type of {} cannot be inferred", name_of(code));
  }
}

}  // namespace
}  // namespace infer

std::vector<TensorType> infer_types(const Function& fn, OpCode code,
                                    std::span<const ValueId> operands, const Attrs& attrs) {
  using namespace infer;
  Types in;
  in.reserve(operands.size());
  for (ValueId operand : operands) in.push_back(fn.type(operand));
  switch (family_of(code)) {
    case OpFamily::kElementwise:
      SPMD_CHECK(code != OpCode::kConvert, "the type of convert cannot be inferred");
      return {infer_elementwise(code, in, attrs)};
    case OpFamily::kShape:
      return infer_shape(code, in, attrs);
    case OpFamily::kContraction:
      return {infer_dot(in, std::get<DotAttrs>(attrs))};
    case OpFamily::kAttention:
      return infer_attention(code, in);
    case OpFamily::kConvolution:
      return {infer_convolution(in, std::get<ConvolutionAttrs>(attrs))};
    case OpFamily::kLinalg:
      return {infer_linalg(code, in, attrs)};
    case OpFamily::kReduction:
      return infer_reduce(in, std::get<ReduceAttrs>(attrs));
    case OpFamily::kIndexing:
      return infer_indexing(code, in, attrs);
    case OpFamily::kWindow:
      if (code == OpCode::kReduceWindow) {
        return infer_reduce_window(in, std::get<WindowAttrs>(attrs));
      }
      return {infer_select_and_scatter(in, std::get<WindowAttrs>(attrs))};
    case OpFamily::kOrdering:
      return infer_ordering(code, in, attrs);
    case OpFamily::kRandom:
      SPMD_UNREACHABLE("the type of {} cannot be inferred", name_of(code));
    case OpFamily::kControlFlow:
      return infer_control_flow(code, in);
    case OpFamily::kCollective:
      return infer_collective(code, in, attrs);
    case OpFamily::kExpanded:
      SPMD_UNREACHABLE("the type of {} cannot be inferred", name_of(code));
  }
  SPMD_UNREACHABLE("unknown family");
}

}  // namespace spmd
