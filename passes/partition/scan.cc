// Cumulative reduce windows along a sharded dimension: a scan of each block, one row of totals from
// every rank, and what the blocks before a rank's own add up to.
#include "passes/partition/arithmetic.h"
#include "passes/partition/exchanged_op.h"
#include "passes/rewrite/match.h"
#include "sharding/rules/cumulative.h"

namespace spmd {
bool is_scan(const ExchangedFactor& factor) {
  if (factor.op.code != OpCode::kReduceWindow) return false;
  const size_t dim = at(factor.operand_dim(0));
  return is_cumulative(factor.op.as<WindowAttrs>(), dim,
                       factor.site.fn.type(factor.op.operands[0]).shape[dim]);
}

LocalResult create_scan(LocalOp& local, const ExchangedFactor& factor) {
  Builder& b = local.builder;
  Function& fn = b.function();
  const int64_t dim = factor.operand_dim(0);
  const OpCode reducer = *reducer_of(local.global, local.op.regions[0]);
  const DType dtype = local.types[0].dtype;
  const Literal identity = reducer_identity(reducer, dtype);
  const int64_t block = local.types[0].dim(dim);
  replace_operand(local, factor, block_need(factor, 0, block, {ValueId::kNone, identity}));

  auto& attrs = std::get<WindowAttrs>(local.attrs);
  const bool forward = attrs.pad_low[at(dim)] > 0;
  attrs.size[at(dim)] = block;
  attrs.pad_low[at(dim)] = forward ? block - 1 : 0;
  attrs.pad_high[at(dim)] = forward ? 0 : block - 1;
  // What the op starts with counts once, not once per block.
  const ValueId init = local.operands[1];
  local.operands[1] = b.constant(identity);
  const LocalResult scan = create_local(local);

  const TensorType type = fn.type(scan.values[0]);
  Dims start(type.shape.size(), 0), limit = type.shape;
  start[at(dim)] = forward ? block - 1 : 0;
  limit[at(dim)] = start[at(dim)] + 1;
  const ValueId total = b.slice(scan.values[0], start, limit);
  TensorType gathered = fn.type(total);
  gathered.shape[at(dim)] = factor.ranks;
  const CollectiveGroups groups{local.atoms.to_axes(factor.axes), {}};
  const ValueId totals =
      fn.op(b.create(OpCode::kAllGather, {total}, {gathered}, AllGatherAttrs{dim, groups}))
          .results[0];
  const TensorType line{DType::kS32, {factor.ranks}};
  const ValueId rank = axis_offset(b, factor.axes, local.atoms, DType::kS32, 1);
  const ValueId counts = b.compare(forward ? CompareDirection::kLt : CompareDirection::kGt,
                                   b.iota(line, 0), b.broadcast(rank, line.shape, {}));
  const ValueId before = b.select(b.broadcast(counts, gathered.shape, {dim}), totals,
                                  b.broadcast(b.constant(identity), gathered.shape, {}));
  const ValueId carry = b.reduce(before, init, {dim}, reducer);
  Dims kept;
  for (int64_t d = 0; d < type.rank(); ++d) {
    if (d != dim) kept.push_back(d);
  }
  const ValueId carried = b.broadcast(carry, type.shape, kept);
  return {{b.binary(reducer, carried, scan.values[0])}, scan.created};
}

}  // namespace spmd
