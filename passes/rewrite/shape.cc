#include <algorithm>
#include <optional>

#include "passes/rewrite/match.h"
#include "passes/rewrite/patterns.h"

namespace spmd {
namespace {

bool all_zero(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t value) { return value == 0; });
}

// Any op that gives back its operand.
bool drop_same_shape(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  if (rw.type(op.operands[0]) != rw.type(op.results[0])) return false;
  bool identity = true;
  if (op.code == OpCode::kBroadcastInDim) identity = is_iota(op.as<BroadcastInDimAttrs>().dims);
  if (op.code == OpCode::kTranspose) identity = is_iota(op.as<TransposeAttrs>().permutation);
  if (op.code == OpCode::kPad) {
    const PadAttrs& pad = op.as<PadAttrs>();
    identity = all_zero(pad.low) && all_zero(pad.high) && all_zero(pad.interior);
  }
  return identity && rw.replace(id, op.operands[0]);
}

// Nothing can be cut of a scalar. JAX puts such constraints into the regions of reductions and
// sorts.
bool drop_constraint_of_scalar(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const bool places =
      rw.type(op.operands[0]).rank() > 0 || !op.as<ReshardAttrs>().sharding.unreduced.empty();
  return !places && rw.replace(id, op.operands[0]);
}

Dims composed(const Dims& outer, const Dims& inner) {
  Dims dims;
  for (int64_t dim : inner) dims.push_back(outer[static_cast<size_t>(dim)]);
  return dims;
}

bool broadcast_of_broadcast(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const Op* inner = def_of(rw.fn(), op.operands[0], OpCode::kBroadcastInDim);
  if (inner == nullptr) return false;
  const Dims dims =
      composed(op.as<BroadcastInDimAttrs>().dims, inner->as<BroadcastInDimAttrs>().dims);
  return rw.replace(
      id, rw.before(id).broadcast(inner->operands[0], rw.type(op.results[0]).shape, dims));
}

// For each dimension of `from`, the dimension of `to` that it becomes when dimensions of size 1 are
// added or dropped: -1 for one that is dropped. Nothing when the reshape does more than that.
std::optional<Dims> kept_dims(const Dims& from, const Dims& to) {
  Dims map(from.size(), -1);
  size_t at = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    if (at < to.size() && to[at] == from[d]) {
      map[d] = static_cast<int64_t>(at++);
      continue;
    }
    if (from[d] == 1) continue;
    while (at < to.size() && to[at] == 1) ++at;
    if (at == to.size() || to[at] != from[d]) return std::nullopt;
    map[d] = static_cast<int64_t>(at++);
  }
  while (at < to.size() && to[at] == 1) ++at;
  if (at != to.size()) return std::nullopt;
  return map;
}

// A reshape that only adds dimensions of size 1 is a broadcast that another one absorbs.
bool broadcast_of_reshape(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const Op* reshape = def_of(rw.fn(), op.operands[0], OpCode::kReshape);
  if (reshape == nullptr) return false;
  const ValueId source = reshape->operands[0];
  const auto kept = kept_dims(rw.type(source).shape, rw.type(op.operands[0]).shape);
  if (!kept || contains(*kept, -1)) return false;
  const Dims dims = composed(op.as<BroadcastInDimAttrs>().dims, *kept);
  return rw.replace(id, rw.before(id).broadcast(source, rw.type(op.results[0]).shape, dims));
}

// reshape(broadcast(x)) that adds or drops only dimensions of size 1 -> broadcast(x)
bool reshape_of_broadcast(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const Op* broadcast = def_of(rw.fn(), op.operands[0], OpCode::kBroadcastInDim);
  if (broadcast == nullptr) return false;
  const auto kept = kept_dims(rw.type(op.operands[0]).shape, rw.type(op.results[0]).shape);
  if (!kept) return false;
  ValueId source = broadcast->operands[0];
  // Dimensions of x that land on a dropped one have size 1 and go first.
  Dims dims, shape;
  const Dims& old_dims = broadcast->as<BroadcastInDimAttrs>().dims;
  for (size_t d = 0; d < old_dims.size(); ++d) {
    const int64_t target = (*kept)[static_cast<size_t>(old_dims[d])];
    if (target < 0) continue;
    dims.push_back(target);
    shape.push_back(rw.type(source).shape[d]);
  }
  Builder builder = rw.before(id);
  source = builder.reshape(source, shape);
  return rw.replace(id, builder.broadcast(source, rw.type(op.results[0]).shape, dims));
}

bool reshape_of_reshape(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const Op* inner = def_of(rw.fn(), op.operands[0], OpCode::kReshape);
  if (inner == nullptr) return false;
  return rw.replace(id, rw.before(id).reshape(inner->operands[0], rw.type(op.results[0]).shape));
}

bool transpose_of_transpose(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const Op* inner = def_of(rw.fn(), op.operands[0], OpCode::kTranspose);
  if (inner == nullptr) return false;
  const Dims permutation =
      composed(inner->as<TransposeAttrs>().permutation, op.as<TransposeAttrs>().permutation);
  return rw.replace(id, rw.before(id).transpose(inner->operands[0], permutation));
}

bool slice_of_slice(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const Op* inner = def_of(rw.fn(), op.operands[0], OpCode::kSlice);
  if (inner == nullptr) return false;
  const SliceAttrs& a = inner->as<SliceAttrs>();
  const SliceAttrs& b = op.as<SliceAttrs>();
  SliceAttrs both = b;
  for (size_t d = 0; d < both.start.size(); ++d) {
    const int64_t count = rw.type(op.results[0]).shape[d];
    both.start[d] = a.start[d] + b.start[d] * a.stride[d];
    both.stride[d] = a.stride[d] * b.stride[d];
    if (count == 0) both.start[d] = std::min(both.start[d], rw.type(inner->operands[0]).shape[d]);
    // The place after the last element taken.
    both.limit[d] = count == 0 ? both.start[d] : both.start[d] + (count - 1) * both.stride[d] + 1;
  }
  return rw.replace(id,
                    rw.before(id).slice(inner->operands[0], both.start, both.limit, both.stride));
}

// A slice that lies within one operand of a concatenation.
bool slice_of_concatenate(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const Op* inner = def_of(rw.fn(), op.operands[0], OpCode::kConcatenate);
  if (inner == nullptr) return false;
  const auto dim = static_cast<size_t>(inner->as<ConcatenateAttrs>().dim);
  SliceAttrs slice = op.as<SliceAttrs>();
  int64_t offset = 0;
  for (ValueId part : inner->operands) {
    const int64_t size = rw.type(part).shape[dim];
    if (slice.start[dim] >= offset && slice.limit[dim] <= offset + size) {
      slice.start[dim] -= offset;
      slice.limit[dim] -= offset;
      return rw.replace(id, rw.before(id).slice(part, slice.start, slice.limit, slice.stride));
    }
    offset += size;
  }
  return false;
}

// Drops empty operands, and the op itself when one operand is left.
bool concatenate_of_few(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const auto dim = static_cast<size_t>(op.as<ConcatenateAttrs>().dim);
  std::vector<ValueId> parts;
  for (ValueId part : op.operands) {
    if (rw.type(part).shape[dim] != 0) parts.push_back(part);
  }
  if (parts.empty()) parts.push_back(op.operands[0]);
  if (parts.size() == 1) return rw.replace(id, parts[0]);
  if (parts.size() == op.operands.size()) return false;
  return rw.replace(id,
                    rw.before(id).value(OpCode::kConcatenate, parts, op.as<ConcatenateAttrs>()));
}

}  // namespace

void add_shape_patterns(PatternSet& patterns) {
  for (OpCode code : {OpCode::kBroadcastInDim, OpCode::kReshape, OpCode::kTranspose, OpCode::kSlice,
                      OpCode::kPad}) {
    patterns.add(code, drop_same_shape);
  }
  patterns.add(OpCode::kShardingConstraint, drop_constraint_of_scalar);
  patterns.add(OpCode::kBroadcastInDim, broadcast_of_broadcast);
  patterns.add(OpCode::kBroadcastInDim, broadcast_of_reshape);
  patterns.add(OpCode::kReshape, reshape_of_reshape);
  patterns.add(OpCode::kReshape, reshape_of_broadcast);
  patterns.add(OpCode::kTranspose, transpose_of_transpose);
  patterns.add(OpCode::kSlice, slice_of_slice);
  patterns.add(OpCode::kSlice, slice_of_concatenate);
  patterns.add(OpCode::kConcatenate, concatenate_of_few);
}

}  // namespace spmd
