#include <algorithm>

#include "ir/expand/expansion.h"
#include "support/error.h"

namespace spmd::expand {

// operand[..., index, ...]: slices along `dim`, one per index, paired along batch dimensions.
Values expand_torch_index_select(Expansion& e) {
  const TensorType operand = e.operand_type(0), index = e.operand_type(1);
  const auto& attrs = e.attrs<TorchIndexSelectAttrs>();
  const int64_t dim = attrs.dim < 0 ? attrs.dim + operand.rank() : attrs.dim;
  const int64_t batch = attrs.batch_dims < 0 ? attrs.batch_dims + index.rank() : attrs.batch_dims;
  e.require(dim >= 0 && dim < operand.rank() && batch >= 0 && batch <= dim && batch <= index.rank(),
            fmt::format("dim {} or batch_dims {} is out of range", attrs.dim, attrs.batch_dims));
  if (operand.dim(dim) == 0) {  // no slice of a gather fits
    e.require(index.num_elements() == 0,
              fmt::format("dimension {} of its operand is empty, its indices are not", dim));
    Dims shape(operand.shape.begin(), operand.shape.begin() + dim);
    shape.insert(shape.end(), index.shape.begin() + batch, index.shape.end());
    shape.insert(shape.end(), operand.shape.begin() + dim + 1, operand.shape.end());
    return {e.b.splat(operand.with_shape(std::move(shape)), 0)};
  }
  GatherAttrs gather;
  gather.collapsed_slice_dims = gather.start_index_map = {dim};
  gather.index_vector_dim = index.rank();
  gather.slice_sizes = operand.shape;
  gather.slice_sizes[static_cast<size_t>(dim)] = 1;
  for (int64_t d = 0; d < batch; ++d) {
    gather.operand_batching_dims.push_back(d);
    gather.start_indices_batching_dims.push_back(d);
    gather.slice_sizes[static_cast<size_t>(d)] = std::min<int64_t>(1, operand.dim(d));
  }
  // The result has the operand's dimensions, the index's in place of `dim`.
  const int64_t more = index.rank() - batch;
  for (int64_t d = batch; d < operand.rank(); ++d) {
    if (d != dim) gather.offset_dims.push_back(d < dim ? d : d - 1 + more);
  }
  return {e.b.value(OpCode::kGather, {e.operand(0), e.operand(1)}, std::move(gather))};
}

}  // namespace spmd::expand
