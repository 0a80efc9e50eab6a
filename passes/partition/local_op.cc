#include "passes/partition/local_op.h"

#include <algorithm>

namespace spmd {

AtomList LocalOp::operand_axes(size_t operand, int64_t dim) const {
  return place(rule, rule.operands[operand], assignment, atoms).dims[static_cast<size_t>(dim)];
}

ValueId axis_offset(Builder& builder, const AtomList& axes, const AtomTable& atoms, DType dtype,
                    int64_t scale) {
  const ValueId index = builder.convert(
      builder.value(OpCode::kAxisIndex, {}, AxisIndexAttrs{atoms.to_axes(axes)}), dtype);
  if (scale == 1) return index;
  return builder.binary(OpCode::kMultiply, index,
                        builder.scalar(dtype, static_cast<double>(scale)));
}

namespace {

void localize_slice(LocalOp& local) {
  auto& attrs = std::get<SliceAttrs>(local.attrs);
  const TensorType& global = local.global.type(local.op.operands[0]);
  const TensorType& operand = local.builder.function().type(local.operands[0]);
  for (size_t d = 0; d < attrs.limit.size(); ++d) {
    if (attrs.limit[d] == global.shape[d] && attrs.start[d] == 0 && attrs.stride[d] == 1) {
      attrs.limit[d] = operand.shape[d];
    }
  }
}

void localize_convolution(LocalOp& local) {
  auto& attrs = std::get<ConvolutionAttrs>(local.attrs);
  const TensorType& input = local.builder.function().type(local.operands[0]);
  const TensorType& kernel = local.builder.function().type(local.operands[1]);
  if (attrs.feature_group_count > 1) {
    attrs.feature_group_count =
        input.dim(attrs.input_feature) / kernel.dim(attrs.kernel_input_feature);
  }
  if (attrs.batch_group_count > 1) {
    // Groups are split over the same axes in the input's batch and in the output's features.
    attrs.batch_group_count = input.dim(attrs.input_batch) / local.types[0].dim(attrs.output_batch);
  }
}

}  // namespace

LocalResult create_local(LocalOp& local) {
  switch (local.op.code) {
    case OpCode::kGather:
      return {{create_local_gather(local)}, OpId::kNone};
    case OpCode::kScatter:
      localize_scatter(local);
      break;
    case OpCode::kDynamicSlice:
      localize_dynamic_slice(local);
      break;
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
