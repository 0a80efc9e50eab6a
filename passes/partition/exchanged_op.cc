#include "passes/partition/exchanged_op.h"

#include <algorithm>

#include "passes/partition/arithmetic.h"
#include "passes/partition/exchange.h"

namespace spmd {

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
                 RankFunction start, RankFunction count) {
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
  RankFunction start = window.first;
  if (filler) {
    const int64_t before = std::max<int64_t>(0, -start.min());
    const int64_t behind = std::max<int64_t>(0, start.max() + window.rows - line.rows());
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
    start = start.mapped(1, before);
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
  own.first = RankFunction::linear(factor.ranks, 0, block);
  own.count = RankFunction::constant(factor.ranks, block);
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

}  // namespace spmd
