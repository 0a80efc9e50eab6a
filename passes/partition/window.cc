// Reduce windows and select-and-scatters along a sharded dimension: halos.
#include <algorithm>

#include "ir/reducer_region.h"
#include "passes/partition/arithmetic.h"
#include "passes/partition/exchanged_op.h"

namespace spmd {
namespace {

// What result `i` of a reduction is not changed by: the identity of a known reducer; else what it
// starts with, in rows that are marked (needs_marks()).
Filler neutral(const Function& fn, BlockId region, size_t i, ValueId init) {
  const std::optional<OpCode> reducer = component_reducer(fn, region, i);
  if (!reducer) return {init, std::nullopt};
  return {ValueId::kNone, reducer_identity(*reducer, fn.type(init).dtype)};
}

}  // namespace

WindowPlan reduce_window_plan(const ExchangedFactor& factor) {
  const Op& op = factor.op;
  const size_t dim = at(factor.operand_dim(0));
  const auto& w = op.as<WindowAttrs>();
  const WindowDim window{w.size[dim], w.stride[dim], w.base_dilation[dim], w.window_dilation[dim],
                         w.pad_low[dim]};
  const int64_t results = factor.site.fn.type(op.results[0]).shape[dim];
  WindowPlan plan;
  plan.window = local_window(
      window, results, factor.site.block(op.results[0], static_cast<int64_t>(dim)), factor.ranks);
  const size_t count = op.results.size();
  for (size_t i = 0; i < count; ++i) {
    const Filler filler = neutral(factor.site.fn, op.regions[0], i, op.operands[count + i]);
    plan.needs.push_back(window_need(factor, i, plan.window, filler));
  }
  return plan;
}

bool needs_marks(const ExchangedFactor& factor) {
  const Op& op = factor.op;
  const Function& fn = factor.site.fn;
  bool known = true;
  for (size_t i = 0; i < op.results.size(); ++i) {
    known = known && component_reducer(fn, op.regions[0], i);
  }
  if (known) return false;
  const size_t dim = at(factor.operand_dim(0));
  const auto& w = op.as<WindowAttrs>();
  const int64_t windows = fn.type(op.results[0]).shape[dim];
  const int64_t last_row = (fn.type(op.operands[0]).shape[dim] - 1) * w.base_dilation[dim];
  const int64_t last_place =
      (windows - 1) * w.stride[dim] + (w.size[dim] - 1) * w.window_dilation[dim] - w.pad_low[dim];
  return w.pad_low[dim] > 0 || last_place > last_row;
}

ValueId inside_operand(LocalOp& local, const ExchangedFactor& factor, const Dims& shape,
                       const RankFunction& first) {
  Builder& b = local.builder;
  const int64_t dim = factor.operand_dim(0);
  const ValueId start = rank_scalar(b, factor.axes, local.atoms, first);
  const TensorType line{DType::kS32, {shape[at(dim)]}};
  const ValueId row = b.binary(OpCode::kAdd, b.iota(line, 0), b.broadcast(start, line.shape, {}));
  const auto rows = static_cast<double>(factor.site.fn.type(local.op.operands[0]).dim(dim));
  const ValueId inside =
      b.binary(OpCode::kAnd, b.compare(CompareDirection::kGe, row, b.splat(line, 0)),
               b.compare(CompareDirection::kLt, row, b.splat(line, rows)));
  return b.broadcast(inside, shape, {dim});
}

std::vector<ValueId> inline_region(const ExchangeSite& site, BlockId region, Builder& inner,
                                   const std::vector<ValueId>& arguments) {
  ValueMap values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    values[site.fn.block(region).args[i]] = arguments[i];
  }
  walk(site.fn, region, [&](OpId id) {
    for (ValueId operand : site.fn.op(id).operands) {
      const Op* def = site.fn.def(operand);
      const BlockId home = def != nullptr ? def->block : site.fn.value(operand).block;
      if (home != region) values.try_emplace(operand, site.local(operand));
    }
  });
  return inline_block(site.fn, region, inner, values);
}

namespace {

// The reducer of values followed by a mark: what is not marked leaves the other as it is.
void add_marked_region(const ExchangeSite& site, BlockId source, Function& fn, OpId op) {
  const std::vector<ValueId>& source_args = site.fn.block(source).args;
  const size_t count = source_args.size() / 2;
  const BlockId region = fn.add_region(op);
  std::vector<ValueId> values, marks;
  for (size_t i = 0; i < 2 * count; ++i) {
    values.push_back(fn.add_block_argument(region, site.fn.type(source_args[i])));
    if (i % count + 1 < count) continue;
    marks.push_back(fn.add_block_argument(region, {DType::kBool, {}}));
  }
  Builder inner(fn, region);
  const ValueId both = inner.binary(OpCode::kAnd, marks[0], marks[1]);
  std::vector<ValueId> returned = inline_region(site, source, inner, values);
  for (size_t i = 0; i < count; ++i) {
    const ValueId one = inner.select(marks[0], values[i], values[count + i]);
    returned[i] = inner.select(both, returned[i], one);
  }
  returned.push_back(inner.binary(OpCode::kOr, marks[0], marks[1]));
  inner.return_op(returned);
}

}  // namespace

LocalResult create_marked_reduce_window(LocalOp& local, const std::vector<ReducedWindow>& reduced) {
  Builder& b = local.builder;
  const Dims shape = b.function().type(local.operands[0]).shape;
  ValueId mark = ValueId::kNone;
  for (const ReducedWindow& along : reduced) {
    const ValueId inside = inside_operand(local, *along.factor, shape, along.window.first);
    mark = mark == ValueId::kNone ? inside : b.binary(OpCode::kAnd, mark, inside);
  }
  std::vector<ValueId> operands = local.operands;
  operands.insert(operands.begin() + static_cast<ptrdiff_t>(operands.size() / 2), mark);
  operands.push_back(b.scalar(DType::kBool, 1));
  std::vector<TensorType> types = local.types;
  types.push_back(types[0].with_dtype(DType::kBool));
  const OpId op = b.create(OpCode::kReduceWindow, operands, types, local.attrs);
  add_marked_region(reduced[0].factor->site, local.op.regions[0], b.function(), op);
  std::vector<ValueId> results = b.function().op(op).results;
  results.pop_back();
  return {std::move(results), OpId::kNone};
}

// ---- select and scatter

// Every rank makes its rows of the result: it selects in all windows that meet them, and scatters
// from the source there.
ScatterWindows scatter_windows(const ExchangedFactor& factor) {
  const Op& op = factor.op;
  const Function& fn = factor.site.fn;
  const size_t dim = at(factor.operand_dim(0));
  const auto& w = op.as<WindowAttrs>();
  const int64_t size = w.size[dim], stride = w.stride[dim], low = w.pad_low[dim];
  const int64_t rows = fn.type(op.operands[0]).shape[dim];
  const int64_t windows = fn.type(op.operands[1]).shape[dim];
  const int64_t block = factor.site.block(op.results[0], static_cast<int64_t>(dim));

  ScatterWindows plan;
  plan.padded = low > 0 || (windows - 1) * stride - low + size > rows;
  // The first window that meets row r * block, or else the last that starts before it.
  const auto first = [&](int64_t r) {
    return std::min(-floor_div(-(r * block + low - size + 1), stride),
                    floor_div(r * block + low, stride));
  };
  const auto more = [&](int64_t r) {
    return floor_div((r + 1) * block - 1 + low, stride) - first(r);
  };
  const auto on_ranks = [&](auto&& f) {
    // Where blocks are a number of strides, all are alike.
    std::optional<std::vector<int64_t>> bends;
    if (block % stride == 0) bends.emplace();
    return RankFunction::of(factor.ranks, bends, f);
  };
  LocalWindow source, operand;
  source.first = on_ranks(first);
  source.count = on_ranks([&](int64_t r) { return std::max<int64_t>(0, more(r) + 1); });
  operand.first = source.first.mapped(stride, -low);
  operand.count = on_ranks([&](int64_t r) { return more(r) * stride + size; });
  plan.first = operand.first;
  plan.skip = on_ranks([&](int64_t r) { return r * block - (first(r) * stride - low); });
  source.rows = source.count.max();
  operand.rows = std::max((source.rows - 1) * stride + size, plan.skip.max() + block);
  plan.needs.push_back(window_need(factor, 0, operand, std::nullopt));
  plan.needs.push_back(
      window_need(factor, 1, source, neutral(fn, op.regions[1], 0, op.operands[2])));
  return plan;
}

namespace {

class SelectAndScatter {
 public:
  SelectAndScatter(LocalOp& local, const std::vector<ExchangedFactor>& factors)
      : local_(local), b_(local.builder), factors_(factors), site_(factors[0].site) {}

  LocalResult create() {
    for (const ExchangedFactor& factor : factors_) {
      plans_.push_back(scatter_windows(factor));
      for (const RowNeed& need : plans_.back().needs) replace_operand(local_, factor, need);
      const size_t dim = at(factor.operand_dim(0));
      auto& attrs = std::get<WindowAttrs>(local_.attrs);
      attrs.pad_low[dim] = attrs.pad_high[dim] = 0;
      padded_ = padded_ || plans_.back().padded;
    }
    const std::vector<TensorType> blocks = local_.types;
    local_.types[0] = type(local_.operands[0]);
    LocalResult result;
    if (padded_) {
      result.values = {scattered(selected())};
    } else {
      result.created = b_.create(local_.op.code, local_.operands, local_.types, local_.attrs);
      result.values = b_.function().op(result.created).results;
    }
    result.values[0] = own_rows(result.values[0], blocks[0]);
    return result;
  }

 private:
  const TensorType& type(ValueId value) { return b_.function().type(value); }

  // The row-major number of each element of the operand's window, -1 beyond the operand: there is
  // nothing to select.
  ValueId numbers() {
    const TensorType shape = type(local_.operands[0]).with_dtype(DType::kS32);
    ValueId number = b_.reshape(b_.iota({DType::kS32, {shape.num_elements()}}, 0), shape.shape);
    for (const ExchangedFactor& factor : factors_) {
      const size_t f = static_cast<size_t>(&factor - factors_.data());
      const ValueId inside = inside_operand(local_, factor, shape.shape, plans_[f].first);
      number = b_.select(inside, number, b_.splat(shape, -1));
    }
    return number;
  }

  // Per window the number of the element that the op selects, by a reduce window of pairs.
  ValueId selected() {
    const ValueId operand = local_.operands[0];
    const DType dtype = type(operand).dtype;
    const ValueId none = b_.scalar(DType::kS32, -1);
    const OpId op = b_.create(OpCode::kReduceWindow,
                              {operand, numbers(), b_.scalar(dtype, 0), none}, local_.attrs);
    Function& fn = b_.function();
    const BlockId region = fn.add_region(op);
    std::vector<ValueId> args;
    for (DType d : {dtype, DType::kS32, dtype, DType::kS32}) {
      args.push_back(fn.add_block_argument(region, {d, {}}));
    }
    Builder inner(fn, region);
    const auto is_element = [&](ValueId number) {
      return inner.compare(CompareDirection::kGe, number, inner.scalar(DType::kS32, 0));
    };
    const ValueId preferred = select_by_op(inner, args[0], args[2]);
    const ValueId first = inner.select(is_element(args[3]),
                                       inner.binary(OpCode::kAnd, is_element(args[1]), preferred),
                                       inner.scalar(DType::kBool, 1));
    inner.return_op({inner.select(first, args[0], args[2]), inner.select(first, args[1], args[3])});
    return fn.op(op).results[1];
  }

  ValueId select_by_op(Builder& inner, ValueId a, ValueId b) {
    return inline_region(site_, local_.op.regions[0], inner, {a, b})[0];
  }

  ValueId scattered(ValueId numbers) {
    const TensorType window = local_.types[0];
    const int64_t elements = window.num_elements();
    const int64_t updates = type(numbers).num_elements();
    const ValueId start = b_.broadcast(local_.operands[2], {elements}, {});
    const ValueId source = b_.reshape(local_.operands[1], {updates});
    ScatterAttrs attrs;
    attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = {0};
    attrs.index_vector_dim = 1;
    const OpId op =
        b_.create(OpCode::kScatter, {start, b_.reshape(numbers, {updates, 1}), source}, attrs);
    site_.copy_region(local_.op.regions[1], b_.function().add_region(op));
    return b_.reshape(b_.function().op(op).results[0], window.shape);
  }

  ValueId own_rows(ValueId value, const TensorType& block) {
    std::vector<ValueId> operands = {value};
    for (size_t d = 0; d < block.shape.size(); ++d) operands.push_back(b_.scalar(DType::kS32, 0));
    for (const ExchangedFactor& factor : factors_) {
      const size_t f = static_cast<size_t>(&factor - factors_.data());
      operands[1 + at(factor.operand_dim(0))] =
          rank_scalar(b_, factor.axes, local_.atoms, plans_[f].skip);
    }
    return b_.value(OpCode::kDynamicSlice, std::move(operands), DynamicSliceAttrs{block.shape});
  }

  LocalOp& local_;
  Builder& b_;
  const std::vector<ExchangedFactor>& factors_;
  const ExchangeSite& site_;
  std::vector<ScatterWindows> plans_;
  bool padded_ = false;
};

}  // namespace

LocalResult create_select_and_scatter(LocalOp& local, const std::vector<ExchangedFactor>& factors) {
  return SelectAndScatter(local, factors).create();
}

}  // namespace spmd
