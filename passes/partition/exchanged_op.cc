#include "passes/partition/exchanged_op.h"

#include <algorithm>
#include <limits>

#include "passes/partition/arithmetic.h"
#include "passes/partition/exchange.h"
#include "support/error.h"

namespace spmd {
namespace {

// An exchange of more permutes than this loses to gathering, whatever they carry.
constexpr int64_t kMaxPermutes = 16;

}  // namespace

// ---- factors

std::optional<int64_t> ExchangedFactor::dim_in(const TensorFactors& tensor) const {
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (tensor.dims[d] == DimFactors{factor}) return static_cast<int64_t>(d);
  }
  return std::nullopt;
}

LineTensor ExchangedFactor::held(ValueId value, int64_t dim) const {
  if (site.placement(value).dims[at(dim)].empty()) return {site.fn.type(value).dim(dim), true};
  return {site.block(value, dim), false};
}

LineReader ExchangedFactor::reader(int64_t dim) const {
  if (!alone) return {site.fn, dim, {}};
  return {site.fn, dim, [this, dim](ValueId result, ValueId operand) {
            const Placement outer = site.placement(result);
            Placement inner = site.placement(operand);
            if (inner.dims[at(dim)].empty()) inner.dims[at(dim)] = outer.dims[at(dim)];
            return inner == outer;
          }};
}

Line ExchangedFactor::line_of(size_t operand) const {
  const ValueId value = op.operands[operand];
  const int64_t dim = operand_dim(operand);
  Line line;
  reader(dim).read(line, value, 0, site.fn.type(value).dim(dim));
  return line;
}

std::vector<ExchangedFactor> exchanged_factors(const ExchangeSite& site, const Op& op,
                                               const FactorRule& rule,
                                               const FactorAssignment& assignment) {
  std::vector<ExchangedFactor> factors;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    const AtomList& axes = assignment.axes[f];
    if (!rule.factors[f].exchanged || axes.empty()) continue;
    factors.push_back(
        {site, op, rule, static_cast<int>(f), axes, site.atoms.extent(axes), /*alone=*/true});
  }
  for (ExchangedFactor& factor : factors) factor.alone = factors.size() == 1;
  return factors;
}

// ---- needs

RowNeed row_need(const ExchangedFactor& factor, size_t operand, Line line, int64_t window,
                 std::vector<int64_t> start, std::vector<int64_t> count) {
  RowNeed need{operand, factor.operand_dim(operand), std::move(line), {}};
  RowExchange& exchange = need.exchange;
  exchange.ranks = factor.ranks;
  exchange.line = need.line.segments;
  for (ValueId tensor : need.line.tensors) {
    exchange.tensors.push_back(factor.held(tensor, need.dim));
  }
  exchange.window = window;
  exchange.start = std::move(start);
  exchange.count = std::move(count);
  return need;
}

RowNeed window_need(const ExchangedFactor& factor, size_t operand, const LocalWindow& window,
                    const std::optional<Filler>& filler) {
  Line line = factor.line_of(operand);
  std::vector<int64_t> start = window.first;
  if (filler) {
    const auto [least, most] = std::minmax_element(start.begin(), start.end());
    const int64_t before = std::max<int64_t>(0, -*least);
    const int64_t behind = std::max<int64_t>(0, *most + window.rows - line.rows());
    const Line inner = std::move(line);
    line = {};
    line.fill(*filler, before);
    for (const LineSegment& segment : inner.segments) {
      if (segment.source >= 0) {
        line.add(inner.tensors[at(segment.source)], segment.first, segment.rows);
      } else {
        line.fill(inner.fillers[at(~segment.source)], segment.rows);
      }
    }
    line.fill(*filler, behind);
    for (int64_t& row : start) row += before;
  }
  return row_need(factor, operand, std::move(line), window.rows, std::move(start), window.count);
}

int64_t block_of(const ExchangedFactor& factor, size_t operand) {
  const ValueId value = factor.op.operands[operand];
  const int64_t dim = factor.operand_dim(operand);
  const LineTensor held = factor.held(value, dim);
  return held.whole ? (held.held + factor.ranks - 1) / factor.ranks : held.held;
}

RowNeed block_need(const ExchangedFactor& factor, size_t operand, int64_t block,
                   const Filler& filler) {
  LocalWindow own;
  own.rows = block;
  for (int64_t r = 0; r < factor.ranks; ++r) own.first.push_back(r * block);
  own.count.assign(at(factor.ranks), block);
  return window_need(factor, operand, own, filler);
}

ValueId emit_rows(LocalOp& local, const ExchangedFactor& factor, const RowNeed& need,
                  const TensorType& type) {
  Builder& b = local.builder;
  ExchangeSources sources;
  for (ValueId tensor : need.line.tensors) {
    // An operand may have been exchanged along another dimension already.
    const bool own = tensor == factor.op.operands[need.operand];
    sources.tensors.push_back(own ? local.operands[need.operand] : factor.site.local(tensor));
  }
  for (const Filler& filler : need.line.fillers) {
    sources.fillers.push_back(filler.literal ? b.constant(*filler.literal)
                                             : factor.site.local(filler.value));
  }
  const auto plan = plan_exchange(need.exchange);
  return emit_exchange(b, *plan, sources, type, need.exchange.window, need.dim, factor.axes,
                       local.atoms);
}

void replace_operand(LocalOp& local, const ExchangedFactor& factor, const RowNeed& need) {
  const TensorType type = local.builder.function().type(local.operands[need.operand]);
  local.operands[need.operand] = emit_rows(local, factor, need, type);
}

// ---- costs

namespace {

WindowPlan window_plan(const ExchangedFactor& factor) {
  switch (factor.op.code) {
    case OpCode::kReduceWindow:
      return reduce_window_plan(factor);
    case OpCode::kConvolution:
      return convolution_plan(factor);
    default:
      return shape_window(factor);
  }
}

std::vector<RowNeed> needs_of(const ExchangedFactor& factor) {
  if (factor.op.code == OpCode::kSelectAndScatter) return scatter_windows(factor).needs;
  if (!has_window(factor)) return block_needs(factor);
  return window_plan(factor).needs;
}

// Bytes of one row of an operand on one rank.
double row_bytes(const ExchangedFactor& factor, size_t operand) {
  const ValueId value = factor.op.operands[operand];
  const TensorType& type = factor.site.fn.type(value);
  const auto dim = at(factor.operand_dim(operand));
  auto bytes = static_cast<double>(byte_size(type.dtype));
  const Placement placement = factor.site.placement(value);
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (d == dim) continue;
    bytes *= static_cast<double>(type.shape[d]);
    bytes /= static_cast<double>(factor.site.atoms.extent(placement.dims[d]));
  }
  return bytes;
}

double factor_seconds(const ExchangedFactor& factor, const CostModel& cost) {
  const auto gathered = [&](double bytes_per_rank) {
    const auto bytes = static_cast<int64_t>(bytes_per_rank * static_cast<double>(factor.ranks));
    return cost.collective_seconds(CollectiveKind::kAllGather, bytes, factor.ranks);
  };
  if (is_scan(factor)) return gathered(row_bytes(factor, 0));
  if (factor.op.code == OpCode::kTopK) {
    const auto k = static_cast<double>(std::min(block_of(factor, 0), factor.op.as<TopKAttrs>().k));
    const DType dtype = factor.site.fn.type(factor.op.operands[0]).dtype;
    const double indices =
        row_bytes(factor, 0) / static_cast<double>(byte_size(dtype)) * byte_size(DType::kS32);
    return gathered(k * row_bytes(factor, 0)) + gathered(k * indices);
  }
  if (factor.op.code == OpCode::kConvolution && !cuts_kernel_evenly(factor)) {
    return std::numeric_limits<double>::infinity();
  }
  double seconds = 0;
  for (const RowNeed& need : needs_of(factor)) {
    const auto plan = plan_exchange(need.exchange, kMaxPermutes);
    if (!plan) return std::numeric_limits<double>::infinity();
    seconds += plan->seconds(static_cast<int64_t>(row_bytes(factor, need.operand)), cost);
  }
  return seconds;
}

}  // namespace

double exchange_seconds(const ExchangeSite& site, const Op& op, const FactorRule& rule,
                        const FactorAssignment& assignment, const CostModel& cost) {
  double seconds = 0;
  for (const ExchangedFactor& factor : exchanged_factors(site, op, rule, assignment)) {
    seconds += factor_seconds(factor, cost);
  }
  return seconds;
}

// ---- creating

namespace {

// Rows [skip[r], skip[r] + block) of a result.
ValueId trimmed(LocalOp& local, const ExchangedFactor& factor, ValueId value, int64_t dim,
                const std::vector<int64_t>& skip, int64_t block) {
  Builder& b = local.builder;
  Dims sizes = b.function().type(value).shape;
  if (sizes[at(dim)] == block) return value;
  sizes[at(dim)] = block;
  const std::vector<bool> all(skip.size(), true);
  std::vector<ValueId> operands = {value};
  for (size_t d = 0; d < sizes.size(); ++d) {
    operands.push_back(d == at(dim) ? rank_scalar(b, factor.axes, local.atoms, skip, all)
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
  std::vector<int64_t> skip;
};

}  // namespace

LocalResult create_exchanged(LocalOp& local, const ExchangeSite& site,
                             const std::vector<ExchangedFactor>& factors) {
  const OpCode code = local.op.code;
  if (code == OpCode::kTopK) return create_top_k(local, factors[0]);
  if (code == OpCode::kSelectAndScatter) return create_select_and_scatter(local, factors);
  std::vector<Trim> trims;
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
      if (!result_dim) continue;
      const int64_t block = local.types[0].dim(*result_dim);
      for (TensorType& type : local.types) type.shape[at(*result_dim)] = plan.window.results;
      trims.push_back({&factor, *result_dim, block, plan.window.skip});
    }
  }
  if (trims.empty() && is_done(local)) return {{local.operands[0]}, OpId::kNone};
  LocalResult result = scan != nullptr ? create_scan(local, *scan) : create_local(local);
  for (const Trim& trim : trims) {
    for (ValueId& value : result.values) {
      value = trimmed(local, *trim.factor, value, trim.dim, trim.skip, trim.block);
    }
  }
  return result;
}

}  // namespace spmd
