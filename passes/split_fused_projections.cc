#include "passes/split_fused_projections.h"

#include <algorithm>
#include <optional>

#include "ir/builder.h"
#include "passes/analysis/model_axes.h"
#include "passes/rewrite/dot_dims.h"
#include "passes/rewrite/match.h"

namespace spmd {
namespace {

struct Range {
  int64_t start, limit;
};

// `value`[..., start:limit, ...] along `dim`.
ValueId piece(Builder& builder, ValueId value, int64_t dim, Range range) {
  const Dims& shape = builder.function().type(value).shape;
  Dims start(shape.size(), 0), limit = shape;
  start[static_cast<size_t>(dim)] = range.start;
  limit[static_cast<size_t>(dim)] = range.limit;
  return builder.slice(value, start, limit);
}

// The dot with other operands and the result's dtype kept or, for sums of pieces, widened.
ValueId dot_like(Builder& builder, const Op& dot, std::vector<ValueId> operands, DType dtype) {
  Function& fn = builder.function();
  std::vector<TensorType> types = infer_types(fn, OpCode::kDotGeneral, operands, dot.attrs);
  types[0].dtype = dtype;
  return fn.op(builder.create(OpCode::kDotGeneral, std::move(operands), types, dot.attrs))
      .results[0];
}

// ---- forward: slices of a product

// The one dimension that a slice cuts, with unit stride.
std::optional<int64_t> cut_dim(const Function& fn, const Op& slice) {
  const auto& attrs = slice.as<SliceAttrs>();
  const Dims& shape = fn.type(slice.operands[0]).shape;
  std::optional<int64_t> dim;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (attrs.stride[d] != 1) return std::nullopt;
    if (attrs.start[d] == 0 && attrs.limit[d] == shape[d]) continue;
    if (dim) return std::nullopt;
    dim = static_cast<int64_t>(d);
  }
  return dim;
}

struct Slices {
  int64_t dim;
  std::vector<OpId> ops;
};

bool overlap(const Function& fn, const Slices& slices) {
  std::vector<Range> ranges;
  const auto dim = static_cast<size_t>(slices.dim);
  for (OpId id : slices.ops) {
    const auto& attrs = fn.op(id).as<SliceAttrs>();
    ranges.push_back({attrs.start[dim], attrs.limit[dim]});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.start < b.start; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].start < ranges[i - 1].limit) return true;
  }
  return false;
}

// All uses of `value`, when they are disjoint slices along one dimension.
std::optional<Slices> slices_of(const Function& fn, ValueId value) {
  std::optional<Slices> slices;
  for (const Use& use : fn.value(value).uses) {
    const Op& op = fn.op(use.op);
    if (op.code != OpCode::kSlice) return std::nullopt;
    const auto dim = cut_dim(fn, op);
    if (!dim || (slices && slices->dim != *dim)) return std::nullopt;
    if (!slices) slices = Slices{*dim, {}};
    slices->ops.push_back(use.op);
  }
  if (!slices || overlap(fn, *slices)) return std::nullopt;
  // Uses are in no particular order; the result should not depend on it.
  std::sort(slices->ops.begin(), slices->ops.end());
  return slices;
}

// The addition of a broadcast that is the only user of the product.
std::optional<OpId> bias_addition(const Function& fn, ValueId product) {
  const Uses& uses = fn.value(product).uses;
  if (uses.size() != 1) return std::nullopt;
  const Op& op = fn.op(uses[0].op);
  if (op.code != OpCode::kAdd) return std::nullopt;
  if (def_of(fn, op.operands[1 - uses[0].operand], OpCode::kBroadcastInDim) == nullptr) {
    return std::nullopt;
  }
  return uses[0].op;
}

// The broadcast's piece along `dim` of its result: the same broadcast of a piece of its operand.
ValueId broadcast_piece(Builder& builder, ValueId value, int64_t dim, Range range) {
  const Function& fn = builder.function();
  const Op& op = *fn.def(value);
  const Dims& dims = op.as<BroadcastInDimAttrs>().dims;
  ValueId operand = op.operands[0];
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool expands = fn.type(operand).shape[d] != fn.type(value).dim(dims[d]);
    if (dims[d] == dim && !expands) {
      operand = piece(builder, operand, static_cast<int64_t>(d), range);
    }
  }
  Dims shape = fn.type(value).shape;
  shape[static_cast<size_t>(dim)] = range.limit - range.start;
  return builder.broadcast(operand, shape, dims);
}

// With the broadcast that it alone used.
void erase_addition(Function& fn, OpId addition) {
  const std::vector<ValueId> terms = fn.op(addition).operands;
  fn.erase_op(addition);
  for (ValueId term : terms) {
    const Op* op = def_of(fn, term, OpCode::kBroadcastInDim);
    if (op != nullptr && fn.value(term).uses.empty()) fn.erase_op(fn.value(term).def);
  }
}

bool split_forward(Function& fn, const ModelAxes& axes, OpId id) {
  const Op& dot = fn.op(id);
  const ValueId product = dot.results[0];
  const auto addition = bias_addition(fn, product);
  const ValueId whole = addition ? fn.op(*addition).results[0] : product;
  if (fn.value(product).sharding || fn.value(whole).sharding) return false;
  const auto slices = slices_of(fn, whole);
  if (!slices) return false;
  const auto from = free_dim_of_result(fn, dot, slices->dim);
  if (!from || !axes.may_divide(fn, dot.operands[from->side], from->dim)) return false;

  for (OpId slice_id : slices->ops) {
    const auto& attrs = fn.op(slice_id).as<SliceAttrs>();
    const auto at = static_cast<size_t>(slices->dim);
    const Range range{attrs.start[at], attrs.limit[at]};
    Builder builder = Builder::before(fn, addition ? *addition : id);
    builder.location = dot.location;
    std::vector<ValueId> operands = dot.operands;
    operands[from->side] = piece(builder, operands[from->side], from->dim, range);
    ValueId result = dot_like(builder, dot, std::move(operands), fn.type(product).dtype);
    if (addition) {
      std::vector<ValueId> terms = fn.op(*addition).operands;
      builder.location = fn.op(*addition).location;
      for (ValueId& term : terms) {
        term = term == product ? result : broadcast_piece(builder, term, slices->dim, range);
      }
      result = builder.binary(OpCode::kAdd, terms[0], terms[1]);
    }
    const ValueId old = fn.op(slice_id).results[0];
    fn.value(result).sharding = fn.value(old).sharding;
    fn.replace_all_uses(old, result);
    fn.erase_op(slice_id);
  }
  if (addition) erase_addition(fn, *addition);
  fn.erase_op(id);
  return true;
}

// ---- backward: products with a concatenation

// A concatenation whose pieces are to be treated one by one.
struct Pieces {
  ValueId whole;
  int64_t dim;
  std::vector<ValueId> parts;
};

bool is_dot_operand_once(const Op& dot, ValueId value) {
  return (dot.operands[0] == value) != (dot.operands[1] == value);
}

bool can_split_user(const Function& fn, const Op& user, const Pieces& pieces) {
  if (user.results.size() != 1 || fn.value(user.results[0]).sharding) return false;
  if (user.code == OpCode::kDotGeneral) {
    const size_t side = user.operands[0] == pieces.whole ? 0 : 1;
    return is_dot_operand_once(user, pieces.whole) &&
           dot_dim_kind(user.as<DotAttrs>(), side, pieces.dim) != DotDimKind::kBatch;
  }
  return user.code == OpCode::kReduce && user.operands.size() == 2 &&
         user.operands[0] == pieces.whole && reducer_of(fn, user.regions[0]) &&
         !contains(user.as<ReduceAttrs>().dims, pieces.dim);
}

bool contracts_weight(const Function& fn, const Op& user, const Pieces& pieces,
                      const ModelAxes& axes) {
  if (user.code != OpCode::kDotGeneral) return false;
  const size_t side = user.operands[0] == pieces.whole ? 0 : 1;
  const auto& attrs = user.as<DotAttrs>();
  if (dot_dim_kind(attrs, side, pieces.dim) != DotDimKind::kContracting) return false;
  return axes.may_divide(fn, user.operands[1 - side], contracted_with(attrs, side, pieces.dim));
}

// dot over the concatenated dimension: the sum of the pieces' products.
ValueId sum_of_dots(Builder& builder, const Op& dot, const Pieces& pieces) {
  Function& fn = builder.function();
  const size_t side = dot.operands[0] == pieces.whole ? 0 : 1;
  const int64_t other_dim = contracted_with(dot.as<DotAttrs>(), side, pieces.dim);
  const DType dtype = fn.type(dot.results[0]).dtype;
  ValueId sum = ValueId::kNone;
  int64_t offset = 0;
  for (ValueId part : pieces.parts) {
    const int64_t size = fn.type(part).dim(pieces.dim);
    std::vector<ValueId> operands = dot.operands;
    operands[side] = part;
    operands[1 - side] = piece(builder, operands[1 - side], other_dim, {offset, offset + size});
    const ValueId term = dot_like(builder, dot, std::move(operands), accumulation_type(dtype));
    sum = sum == ValueId::kNone ? term : builder.binary(OpCode::kAdd, sum, term);
    offset += size;
  }
  return builder.convert(sum, dtype);
}

ValueId concatenation_of_dots(Builder& builder, const Op& dot, const Pieces& pieces) {
  Function& fn = builder.function();
  const size_t side = dot.operands[0] == pieces.whole ? 0 : 1;
  const int64_t dim = result_dim_of_free(fn, dot, side, pieces.dim);
  std::vector<ValueId> results;
  for (ValueId part : pieces.parts) {
    std::vector<ValueId> operands = dot.operands;
    operands[side] = part;
    results.push_back(dot_like(builder, dot, std::move(operands), fn.type(dot.results[0]).dtype));
  }
  return builder.value(OpCode::kConcatenate, std::move(results), ConcatenateAttrs{dim});
}

ValueId concatenation_of_reductions(Builder& builder, OpId id, const Pieces& pieces) {
  Function& fn = builder.function();
  const Op& reduce = fn.op(id);
  const Dims& dims = reduce.as<ReduceAttrs>().dims;
  const int64_t dim = pieces.dim - std::count_if(dims.begin(), dims.end(), [&](int64_t reduced) {
                        return reduced < pieces.dim;
                      });
  std::vector<ValueId> results;
  for (ValueId part : pieces.parts) {
    ValueMap values{{pieces.whole, part}};
    const OpId copy = clone_op(fn, id, builder, values);
    const ValueId result = fn.op(copy).results[0];
    Dims& shape = fn.value(result).type.shape;
    shape[static_cast<size_t>(dim)] = fn.type(part).dim(pieces.dim);
    results.push_back(result);
  }
  return builder.value(OpCode::kConcatenate, std::move(results), ConcatenateAttrs{dim});
}

void split_user(Function& fn, OpId id, const Pieces& pieces) {
  const Op& user = fn.op(id);
  Builder builder = Builder::before(fn, id);
  builder.location = user.location;
  ValueId replacement;
  if (user.code == OpCode::kReduce) {
    replacement = concatenation_of_reductions(builder, id, pieces);
  } else {
    const size_t side = user.operands[0] == pieces.whole ? 0 : 1;
    const bool contracts =
        dot_dim_kind(user.as<DotAttrs>(), side, pieces.dim) == DotDimKind::kContracting;
    replacement = contracts ? sum_of_dots(builder, user, pieces)
                            : concatenation_of_dots(builder, user, pieces);
  }
  fn.replace_all_uses(user.results[0], replacement);
  fn.erase_op(id);
}

bool split_backward(Function& fn, const ModelAxes& axes, OpId id) {
  const Op& concatenate = fn.op(id);
  const Pieces pieces{concatenate.results[0], concatenate.as<ConcatenateAttrs>().dim,
                      concatenate.operands};
  if (pieces.parts.size() < 2 || fn.value(pieces.whole).sharding) return false;
  std::vector<OpId> users;
  bool pays = false;
  for (const Use& use : fn.value(pieces.whole).uses) {
    const Op& user = fn.op(use.op);
    if (!can_split_user(fn, user, pieces)) return false;
    pays |= contracts_weight(fn, user, pieces, axes);
    users.push_back(use.op);
  }
  if (!pays) return false;
  std::sort(users.begin(), users.end());
  for (OpId user : users) split_user(fn, user, pieces);
  fn.erase_op(id);
  return true;
}

bool split_fused_projections(Module& module, PassContext&) {
  const ModelAxes axes(module);
  if (!axes.any()) return false;
  bool changed = false;
  for (const auto& fn : module.functions()) {
    std::vector<OpId> dots, concatenations;
    walk(*fn, [&](OpId id) {
      if (fn->op(id).code == OpCode::kDotGeneral) dots.push_back(id);
      if (fn->op(id).code == OpCode::kConcatenate) concatenations.push_back(id);
    });
    for (OpId id : dots) changed |= split_forward(*fn, axes, id);
    for (OpId id : concatenations) changed |= split_backward(*fn, axes, id);
  }
  return changed;
}

}  // namespace

Pass split_fused_projections_pass() {
  return {"split_fused_projections", "one matrix product per piece of a fused projection",
          split_fused_projections};
}

}  // namespace spmd
