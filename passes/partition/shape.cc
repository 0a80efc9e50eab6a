// Slices, pads, concatenations, reversals along a sharded dimension: rows move between blocks.
#include "passes/partition/arithmetic.h"
#include "passes/partition/exchanged_op.h"

namespace spmd {
namespace {

// Rows r * block ... of the results, as far as there are results.
struct ResultBlocks {
  int64_t block = 1;
  RankFunction first, count;
};

ResultBlocks result_blocks(const ExchangedFactor& factor) {
  const ValueId result = factor.op.results[0];
  const int64_t dim = *factor.dim_in(factor.rule.results[0]);
  const int64_t rows = factor.site.fn.type(result).dim(dim);
  const int64_t block = factor.site.block(result, dim);
  const auto count = [&](int64_t r) { return std::clamp<int64_t>(rows - r * block, 0, block); };
  return {block, RankFunction::linear(factor.ranks, 0, block),
          RankFunction::of(factor.ranks, std::vector{rows / block, rows / block + 1}, count)};
}

}  // namespace

bool has_window(const ExchangedFactor& factor) {
  const auto dim = [&] { return at(factor.operand_dim(0)); };
  switch (factor.op.code) {
    case OpCode::kConcatenate:
    case OpCode::kDynamicUpdateSlice:
    case OpCode::kReverse:
      return false;
    case OpCode::kSlice:
      return factor.op.as<SliceAttrs>().stride[dim()] != 1;
    case OpCode::kPad:
      return factor.op.as<PadAttrs>().interior[dim()] != 0;
    default:
      return true;
  }
}

std::vector<RowNeed> block_needs(const ExchangedFactor& factor) {
  ResultBlocks blocks = result_blocks(factor);
  const int64_t dim = *factor.dim_in(factor.rule.results[0]);
  const int64_t rows = factor.site.fn.type(factor.op.results[0]).dim(dim);
  Line line;
  if (factor.op.code == OpCode::kReverse) {
    // Result row j is row rows - 1 - j: blocks from the other end, each reversed by its rank.
    line = factor.line_of(0);
    blocks.first = blocks.first.mapped(-1, rows - blocks.block);
    blocks.count = RankFunction::constant(factor.ranks, blocks.block);
  } else {
    factor.reader(dim).read_op(line, factor.op, 0, rows);
  }
  return {row_need(factor, 0, std::move(line), blocks.block, std::move(blocks.first),
                   std::move(blocks.count))};
}

WindowPlan shape_window(const ExchangedFactor& factor) {
  const size_t dim = at(factor.operand_dim(0));
  const ResultBlocks blocks = result_blocks(factor);
  const int64_t results = factor.site.fn.type(factor.op.results[0]).shape[dim];
  WindowDim window;
  std::optional<Filler> filler;
  if (factor.op.code == OpCode::kSlice) {
    const auto& slice = factor.op.as<SliceAttrs>();
    window.stride = slice.stride[dim];
    window.low = -slice.start[dim];
  } else {
    const auto& pad = factor.op.as<PadAttrs>();
    window.base_dilation = pad.interior[dim] + 1;
    window.low = pad.low[dim];
    filler = Filler{factor.op.operands[1], std::nullopt};
  }
  const LocalWindow local = local_window(window, results, blocks.block, factor.ranks);
  return {local, {window_need(factor, 0, local, filler)}};
}

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

}  // namespace spmd
