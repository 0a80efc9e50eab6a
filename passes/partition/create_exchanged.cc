// The op that each rank runs on the rows that it holds and is sent.
#include <algorithm>

#include "passes/partition/arithmetic.h"
#include "passes/partition/exchanged_op.h"
#include "support/error.h"

namespace spmd {
namespace {

// Rows [skip[r], skip[r] + block) of a result.
ValueId trimmed(LocalOp& local, const ExchangedFactor& factor, ValueId value, int64_t dim,
                const RankFunction& skip, int64_t block) {
  Builder& b = local.builder;
  Dims sizes = b.function().type(value).shape;
  if (sizes[at(dim)] == block) return value;
  sizes[at(dim)] = block;
  std::vector<ValueId> operands = {value};
  for (size_t d = 0; d < sizes.size(); ++d) {
    operands.push_back(d == at(dim) ? rank_scalar(b, factor.axes, local.atoms, skip)
                                    : b.scalar(DType::kS32, 0));
  }
  return b.value(OpCode::kDynamicSlice, std::move(operands), DynamicSliceAttrs{sizes});
}

// Attributes of an op on the window of one rank.
void set_window(LocalOp& local, const ExchangedFactor& factor, const LocalWindow& window) {
  const size_t dim = at(factor.operand_dim(0));
  switch (local.op.code) {
    case OpCode::kSlice: {
      auto& slice = std::get<SliceAttrs>(local.attrs);
      slice.start[dim] = 0;
      slice.limit[dim] = window.rows;
      return;
    }
    case OpCode::kPad: {
      auto& pad = std::get<PadAttrs>(local.attrs);
      pad.low[dim] = window.low;
      pad.high[dim] = window.high;
      return;
    }
    case OpCode::kReduceWindow: {
      auto& attrs = std::get<WindowAttrs>(local.attrs);
      attrs.pad_low[dim] = window.low;
      attrs.pad_high[dim] = window.high;
      return;
    }
    case OpCode::kConvolution: {
      auto& attrs = std::get<ConvolutionAttrs>(local.attrs);
      const auto spatial =
          static_cast<size_t>(std::find(attrs.input_spatial.begin(), attrs.input_spatial.end(),
                                        static_cast<int64_t>(dim)) -
                              attrs.input_spatial.begin());
      attrs.pad_low[spatial] = window.low;
      attrs.pad_high[spatial] = window.high;
      return;
    }
    default:
      SPMD_UNREACHABLE("{} has no window", name_of(local.op.code));
  }
}

// Attributes of an op whose operand is already the block of results along the dimension.
void set_identity(LocalOp& local, int64_t dim, int64_t rows) {
  if (local.op.code == OpCode::kSlice) {
    auto& slice = std::get<SliceAttrs>(local.attrs);
    slice.start[at(dim)] = 0;
    slice.limit[at(dim)] = rows;
  } else if (local.op.code == OpCode::kPad) {
    auto& pad = std::get<PadAttrs>(local.attrs);
    pad.low[at(dim)] = pad.high[at(dim)] = 0;
  }
}

// Whether the operand, of which rows were moved, is the result.
bool is_done(const LocalOp& local) {
  const auto all_zero = [](const Dims& dims) {
    return std::all_of(dims.begin(), dims.end(), [](int64_t value) { return value == 0; });
  };
  switch (local.op.code) {
    case OpCode::kConcatenate:
    case OpCode::kDynamicUpdateSlice:
      return true;
    case OpCode::kSlice:
      return local.builder.function().type(local.operands[0]) == local.types[0];
    case OpCode::kPad: {
      const auto& pad = std::get<PadAttrs>(local.attrs);
      return all_zero(pad.low) && all_zero(pad.high) && all_zero(pad.interior);
    }
    default:
      return false;
  }
}

struct Trim {
  const ExchangedFactor* factor;
  int64_t dim, block;
  RankFunction skip;
};

}  // namespace

LocalResult create_exchanged(LocalOp& local, const ExchangeSite& site,
                             const std::vector<ExchangedFactor>& factors) {
  const OpCode code = local.op.code;
  if (code == OpCode::kTopK) return create_top_k(local, factors[0]);
  if (code == OpCode::kSelectAndScatter) return create_select_and_scatter(local, factors);
  std::vector<Trim> trims;
  std::vector<ReducedWindow> reduced;
  bool marked = false;
  const ExchangedFactor* scan = nullptr;
  for (const ExchangedFactor& factor : factors) {
    const std::optional<int64_t> result_dim = factor.dim_in(local.rule.results[0]);
    if (is_scan(factor)) {
      scan = &factor;
    } else if (!has_window(factor)) {
      const std::vector<RowNeed> needs = block_needs(factor);
      replace_operand(local, factor, needs[0]);
      set_identity(local, *result_dim, needs[0].exchange.window);
    } else {
      WindowPlan plan = window_plan(factor);
      for (const RowNeed& need : plan.needs) replace_operand(local, factor, need);
      set_window(local, factor, plan.window);
      if (code == OpCode::kReduceWindow) {
        reduced.push_back({&factor, plan.window});
        marked = marked || needs_marks(factor);
      }
      if (!result_dim) continue;
      const int64_t block = local.types[0].dim(*result_dim);
      for (TensorType& type : local.types) type.shape[at(*result_dim)] = plan.window.results;
      trims.push_back({&factor, *result_dim, block, plan.window.skip});
    }
  }
  if (trims.empty() && is_done(local)) return {{local.operands[0]}, OpId::kNone};
  LocalResult result = scan != nullptr ? create_scan(local, *scan)
                       : marked        ? create_marked_reduce_window(local, reduced)
                                       : create_local(local);
  for (const Trim& trim : trims) {
    for (ValueId& value : result.values) {
      value = trimmed(local, *trim.factor, value, trim.dim, trim.skip, trim.block);
    }
  }
  return result;
}

}  // namespace spmd
