// What padding must not change: reductions do not see it, and indices do not reach it.
#include "passes/partition/local_op.h"
#include "passes/partition/uneven_padder.h"

namespace spmd {
namespace {

// The largest value of an index type, or more.
int64_t largest_int(DType dtype) {
  const int64_t bits = 8 * byte_size(dtype) - (is_signed_int(dtype) ? 1 : 0);
  return bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
}

}  // namespace

ValueId UnevenPadder::mask(ValueId value, const Placement& placement, int64_t dim,
                           int64_t true_size, const Literal& filler, Builder& builder) {
  const TensorType type = to_.type(value);
  Placement whole = placement;
  whole.partial.clear();
  Placement line;
  line.dims = {whole.dims[static_cast<size_t>(dim)]};
  const TensorType index_type{DType::kS32, {type.dim(dim)}};
  const ValueId index = source_placed(builder.iota(index_type, 0), line, builder);
  const ValueId bound =
      source_placed(builder.splat(index_type, static_cast<double>(true_size)), line, builder);
  const ValueId inside = placed(builder.compare(CompareDirection::kLt, index, bound), line);
  const ValueId predicate = placed(builder.broadcast(inside, type.shape, {dim}), whole);
  const ValueId fill =
      source_placed(builder.constant(Literal::splat(type, static_cast<const void*>(filler.data()))),
                    whole, builder);
  return placed(builder.select(predicate, value, fill), placement);
}

ValueId UnevenPadder::clamp_indices(const Op& op, ValueId indices, Builder& builder) {
  // Padded operands: an index beyond the true size means its last slice.
  const auto& attrs = op.as<GatherAttrs>();
  const TensorType type = to_.type(indices);
  const TensorType& operand = from_.type(op.operands[0]);
  const Placement& where = placement(op.operands[1]);
  const auto bounds_size = static_cast<int64_t>(attrs.start_index_map.size());
  std::vector<int32_t> bounds;
  for (int64_t dim : attrs.start_index_map) {
    bounds.push_back(
        static_cast<int32_t>(operand.dim(dim) - attrs.slice_sizes[static_cast<size_t>(dim)]));
  }
  ValueId bound;
  if (bounds.size() == 1) {
    bound = source_placed(builder.splat(type, bounds[0]), where, builder);
  } else {
    const ValueId vector = placed(
        builder.convert(
            placed(builder.constant(Literal::of(TensorType{DType::kS32, {bounds_size}}, bounds)),
                   Placement::replicated(1)),
            type.dtype),
        Placement::replicated(1));
    bound = placed(builder.broadcast(vector, type.shape, {attrs.index_vector_dim}), where);
  }
  const ValueId zero = source_placed(builder.splat(type, 0), where, builder);
  return placed(builder.value(OpCode::kClamp, {zero, indices, bound}), where);
}

// Padded operands: a start beyond the last means the last, by the true size.
void UnevenPadder::clamp_starts(const Op& op, const std::vector<int64_t>& sizes,
                                const FactorRule& rule, std::vector<ValueId>& operands,
                                Builder& builder) {
  const size_t first = op.code == OpCode::kDynamicSlice ? 1 : 2;
  const Dims& slice = op.code == OpCode::kDynamicSlice ? op.as<DynamicSliceAttrs>().sizes
                                                       : from_.type(op.operands[1]).shape;
  for (size_t d = 0; d < slice.size(); ++d) {
    const DimFactors& factors = rule.operands[0].dims[d];
    if (factors.empty()) continue;
    const Factor& factor = rule.factors[static_cast<size_t>(factors[0])];
    if (factor.kind != FactorKind::kIndexed ||
        sizes[static_cast<size_t>(factors[0])] == factor.size) {
      continue;
    }
    ValueId& start = operands[first + d];
    const DType dtype = to_.type(start).dtype;
    const auto scalar = [&](int64_t value) {
      return placed(builder.scalar(dtype, static_cast<double>(value)), Placement());
    };
    const int64_t last = from_.type(op.operands[0]).shape[d] - slice[d];
    if (last > largest_int(dtype)) continue;
    start = placed(builder.value(OpCode::kClamp, {scalar(0), start, scalar(last)}), Placement());
  }
}

void UnevenPadder::mask_operands(const Op& op, const FactorRule& rule,
                                 const std::vector<int64_t>& sizes, std::vector<ValueId>& operands,
                                 Builder& builder) {
  const bool scatter = op.code == OpCode::kScatter;
  for (size_t i = 0; i < operands.size(); ++i) {
    // A scatter drops updates whose index is out of range; only the indices need a mask.
    if (scatter && i != op.results.size()) continue;
    const TensorFactors& tensor = rule.operands[i];
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      if (tensor.dims[d].empty()) continue;
      const auto f = static_cast<size_t>(tensor.dims[d][0]);
      if (rule.factors[f].kind != FactorKind::kReduction || sizes[f] == rule.factors[f].size) {
        continue;
      }
      const DType dtype = from_.type(op.operands[i]).dtype;
      const OpCode reducer = op.code == OpCode::kReduce ? reducer_opcode(rule.reduction, dtype)
                             : scatter                  ? OpCode::kMinimum
                                                        : OpCode::kAdd;
      Literal filler = reducer_identity(reducer, dtype);
      // Far enough for the whole of a window.
      if (scatter && is_signed_int(dtype)) filler = reducer_identity(OpCode::kMaximum, dtype);
      operands[i] = mask(operands[i], placement(op.operands[i]), static_cast<int64_t>(d),
                         from_.type(op.operands[i]).shape[d], filler, builder);
    }
  }
  if (op.code == OpCode::kDynamicSlice || op.code == OpCode::kDynamicUpdateSlice) {
    clamp_starts(op, sizes, rule, operands, builder);
  }
  if (op.code != OpCode::kGather) return;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    if (rule.factors[f].kind == FactorKind::kIndexed && sizes[f] != rule.factors[f].size) {
      operands[1] = clamp_indices(op, operands[1], builder);
      return;
    }
  }
}

}  // namespace spmd
