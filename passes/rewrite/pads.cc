// The gradient of slices is exported as a sum of pads, each zero where the others are not.
#include <algorithm>
#include <optional>

#include "passes/rewrite/match.h"
#include "passes/rewrite/patterns.h"

namespace spmd {
namespace {

// A value that is zero outside [start, start + size of `value`) of dimension `dim`.
struct Placed {
  ValueId value;
  int64_t dim, start, size;
};

std::optional<Placed> zero_pad(Rewriter& rw, ValueId value) {
  const Op* op = def_of(rw.fn(), value, OpCode::kPad);
  if (op == nullptr || !is_splat(rw.fn(), op->operands[1], 0)) return std::nullopt;
  const PadAttrs& pad = op->as<PadAttrs>();
  std::optional<Placed> placed;
  for (size_t d = 0; d < pad.low.size(); ++d) {
    if (pad.low[d] < 0 || pad.high[d] < 0 || pad.interior[d] != 0) return std::nullopt;
    if (pad.low[d] == 0 && pad.high[d] == 0) continue;
    if (placed) return std::nullopt;
    placed = Placed{op->operands[0], static_cast<int64_t>(d), pad.low[d],
                    rw.type(op->operands[0]).shape[d]};
  }
  return placed;
}

ValueId zeros(Builder& builder, TensorType type, int64_t dim, int64_t size) {
  type.shape[static_cast<size_t>(dim)] = size;
  return builder.splat(std::move(type), 0);
}

// Appends `size` zeros along `dim` to the parts of a concatenation.
void append_zeros(Builder& builder, std::vector<ValueId>& parts, const TensorType& type,
                  int64_t dim, int64_t size) {
  if (size > 0) parts.push_back(zeros(builder, type, dim, size));
}

// pad(a) + pad(b), disjoint along one dimension -> concatenate(a, 0, b)
bool add_of_pads(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  auto a = zero_pad(rw, op.operands[0]), b = zero_pad(rw, op.operands[1]);
  if (!a || !b || a->dim != b->dim) return false;
  if (b->start < a->start) std::swap(a, b);
  if (a->start + a->size > b->start) return false;
  const TensorType& type = rw.type(op.results[0]);
  Builder builder = rw.before(id);
  std::vector<ValueId> parts;
  append_zeros(builder, parts, type, a->dim, a->start);
  parts.push_back(a->value);
  append_zeros(builder, parts, type, a->dim, b->start - a->start - a->size);
  parts.push_back(b->value);
  append_zeros(builder, parts, type, a->dim, type.dim(a->dim) - b->start - b->size);
  return rw.replace(id, builder.value(OpCode::kConcatenate, parts, ConcatenateAttrs{a->dim}));
}

// concatenate(..., 0, ...) + pad(b), where b falls on the zeros
bool add_of_concatenate_and_pad(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  for (size_t side = 0; side < 2; ++side) {
    const Op* concatenate = def_of(rw.fn(), op.operands[side], OpCode::kConcatenate);
    const auto b = zero_pad(rw, op.operands[1 - side]);
    if (concatenate == nullptr || !b || concatenate->as<ConcatenateAttrs>().dim != b->dim) continue;
    const std::vector<ValueId> old_parts = concatenate->operands;
    const TensorType& type = rw.type(op.results[0]);
    Builder builder = rw.before(id);
    std::vector<ValueId> parts;
    int64_t offset = 0;
    bool placed = false;
    for (ValueId part : old_parts) {
      const int64_t size = rw.type(part).dim(b->dim);
      const bool inside = b->start >= offset && b->start + b->size <= offset + size;
      if (!placed && inside && is_splat(rw.fn(), part, 0)) {
        append_zeros(builder, parts, type, b->dim, b->start - offset);
        parts.push_back(b->value);
        append_zeros(builder, parts, type, b->dim, offset + size - b->start - b->size);
        placed = true;
      } else {
        parts.push_back(part);
      }
      offset += size;
    }
    if (!placed) continue;
    return rw.replace(id, builder.value(OpCode::kConcatenate, parts, ConcatenateAttrs{b->dim}));
  }
  return false;
}

}  // namespace

void add_pad_patterns(PatternSet& patterns) {
  patterns.add(OpCode::kAdd, add_of_pads);
  patterns.add(OpCode::kAdd, add_of_concatenate_and_pad);
}

}  // namespace spmd
