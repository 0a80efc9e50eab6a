#include "passes/partition/op_cost.h"

#include <algorithm>

#include "sharding/propagation/propagation.h"

namespace spmd {

double op_seconds(const Function& fn, const Op& op, const CostModel& cost) {
  switch (op.code) {
    case OpCode::kConstant:
    case OpCode::kIota:
    case OpCode::kReshape:
    case OpCode::kBroadcastInDim: return 0;
    default: break;
  }
  double bytes = 0;
  for (ValueId operand : op.operands) {
    if (!is_free_source(fn, operand)) bytes += static_cast<double>(fn.type(operand).num_bytes());
  }
  double elements = 0;
  for (ValueId result : op.results) {
    bytes += static_cast<double>(fn.type(result).num_bytes());
    elements += static_cast<double>(fn.type(result).num_elements());
  }
  double seconds = bytes / cost.memory_bandwidth;
  if (op.code == OpCode::kDotGeneral) {
    double depth = 1;
    for (int64_t dim : op.as<DotAttrs>().lhs_contracting) {
      depth *= static_cast<double>(fn.type(op.operands[0]).dim(dim));
    }
    seconds = std::max(seconds, 2 * elements * depth / cost.flops_per_second);
  } else if (op.code == OpCode::kConvolution) {
    const TensorType& kernel = fn.type(op.operands[1]);
    const double depth =
        static_cast<double>(kernel.num_elements()) /
        static_cast<double>(
            std::max<int64_t>(1, kernel.dim(op.as<ConvolutionAttrs>().kernel_output_feature)));
    seconds = std::max(seconds, 2 * elements * depth / cost.flops_per_second);
  }
  return seconds;
}

}  // namespace spmd
