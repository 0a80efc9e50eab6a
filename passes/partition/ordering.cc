// Top-k along a sharded dimension: the largest of each block are candidates for the largest of all.
#include <algorithm>

#include "passes/partition/arithmetic.h"
#include "passes/partition/exchanged_op.h"

namespace spmd {
namespace {

// What comes behind everything else: no element is smaller, and among equals the first counts.
Literal least(DType dtype) { return reducer_identity(OpCode::kMaximum, dtype); }

}  // namespace

LocalResult create_top_k(LocalOp& local, const ExchangedFactor& factor) {
  Builder& b = local.builder;
  Function& fn = b.function();
  const int64_t dim = factor.operand_dim(0);
  const int64_t k = local.op.as<TopKAttrs>().k;
  const DType dtype = fn.type(local.operands[0]).dtype;
  const int64_t block = block_of(factor, 0);
  replace_operand(local, factor, block_need(factor, 0, block, {ValueId::kNone, least(dtype)}));
  const OpId own = b.create(OpCode::kTopK, {local.operands[0]}, TopKAttrs{std::min(k, block)});
  const TensorType index_type = fn.type(fn.op(own).results[1]);
  const ValueId first = axis_offset(b, factor.axes, local.atoms, DType::kS32, block);
  const ValueId places =
      b.binary(OpCode::kAdd, fn.op(own).results[1], b.broadcast(first, index_type.shape, {}));
  const CollectiveGroups groups{local.atoms.to_axes(factor.axes), {}};
  const auto gathered = [&](ValueId value) {
    TensorType type = fn.type(value);
    type.shape[at(dim)] *= factor.ranks;
    return fn.op(b.create(OpCode::kAllGather, {value}, {type}, AllGatherAttrs{dim, groups}))
        .results[0];
  };
  // Candidates stand in the order of their ranks, and equal ones of a rank in the order of their
  // places: so equals are still taken by their place.
  const ValueId values = gathered(fn.op(own).results[0]), candidates = gathered(places);
  const OpId all = b.create(OpCode::kTopK, {values}, TopKAttrs{k});
  GatherAttrs attrs;
  for (int64_t d = 0; d < dim; ++d) {
    attrs.operand_batching_dims.push_back(d);
    attrs.start_indices_batching_dims.push_back(d);
  }
  attrs.collapsed_slice_dims = attrs.start_index_map = {dim};
  attrs.index_vector_dim = dim + 1;
  for (int64_t d = 0; d < dim; ++d) {
    attrs.slice_sizes.push_back(std::min<int64_t>(1, fn.type(candidates).dim(d)));
  }
  attrs.slice_sizes.push_back(1);
  const ValueId chosen =
      b.value(OpCode::kGather, {candidates, fn.op(all).results[1]}, std::move(attrs));
  return {{fn.op(all).results[0], chosen}, OpId::kNone};
}

}  // namespace spmd
