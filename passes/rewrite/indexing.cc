#include <algorithm>
#include <optional>

#include "passes/rewrite/match.h"
#include "passes/rewrite/patterns.h"

namespace spmd {
namespace {

// Constant start indices, clamped as the op does it.
std::optional<Dims> constant_starts(Rewriter& rw, const Op& op, size_t first, const Dims& sizes) {
  Dims starts;
  const Dims& shape = rw.type(op.operands[0]).shape;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const auto start = splat_of(rw.fn(), op.operands[first + d]);
    // Where everything is taken the index does not matter.
    if (!start && sizes[d] != shape[d]) return std::nullopt;
    const int64_t last = shape[d] - sizes[d];
    // The largest unsigned indices read as negative numbers.
    const bool huge = start && is_unsigned_int(start->type().dtype) && start->as_int(0) < 0;
    starts.push_back(!start ? 0 : huge ? last : std::clamp<int64_t>(start->as_int(0), 0, last));
  }
  return starts;
}

bool dynamic_slice_of_constants(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const Dims& sizes = op.as<DynamicSliceAttrs>().sizes;
  const auto starts = constant_starts(rw, op, 1, sizes);
  if (!starts) return false;
  Dims limits = *starts;
  for (size_t d = 0; d < limits.size(); ++d) limits[d] += sizes[d];
  return rw.replace(id, rw.before(id).slice(op.operands[0], *starts, limits));
}

bool update_of_everything(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  return rw.type(op.operands[0]) == rw.type(op.operands[1]) && rw.replace(id, op.operands[1]);
}

// Index arithmetic of later passes needs room and signs. What is beyond the new type stays beyond
// every dimension.
ValueId as_wide_index(Builder& builder, ValueId index) {
  const TensorType type = builder.function().type(index);
  const bool wide = bit_width(type.dtype) == 64;
  if (is_unsigned_int(type.dtype) && bit_width(type.dtype) >= 32) {
    const DType to = wide ? DType::kS64 : DType::kS32;
    const ValueId most =
        builder.convert(builder.constant(reducer_identity(OpCode::kMinimum, to)), type.dtype);
    const ValueId mosts = builder.broadcast(most, type.shape, {});
    return builder.convert(builder.binary(OpCode::kMinimum, index, mosts), to);
  }
  return builder.convert(index, DType::kS32);
}

bool widen_indices(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  size_t first = 1, count = 1;
  if (op.code == OpCode::kScatter) first = op.results.size();
  if (op.code == OpCode::kDynamicUpdateSlice) first = 2;
  if (op.code == OpCode::kDynamicSlice || op.code == OpCode::kDynamicUpdateSlice) {
    count = op.operands.size() - first;
  }
  if (count == 0) return false;
  const DType dtype = rw.type(op.operands[first]).dtype;
  if (dtype == DType::kS32 || dtype == DType::kS64) return false;
  Builder builder = rw.before(id);
  for (size_t i = first; i < first + count; ++i) {
    const ValueId index = rw.op(id).operands[i];
    rw.set_operand(id, i, as_wide_index(builder, index));
  }
  return true;
}

}  // namespace

void add_indexing_patterns(PatternSet& patterns) {
  for (OpCode code :
       {OpCode::kGather, OpCode::kScatter, OpCode::kDynamicSlice, OpCode::kDynamicUpdateSlice}) {
    patterns.add(code, widen_indices);
  }
  patterns.add(OpCode::kDynamicSlice, dynamic_slice_of_constants);
  patterns.add(OpCode::kDynamicUpdateSlice, update_of_everything);
}

}  // namespace spmd
