// Shape ops: views where strides can say it, else copies into windows of the result.
#include <algorithm>

#include "codegen/lower/lower.h"
#include "support/error.h"

namespace spmd::codegen {
namespace {

void lower_constant(Emitter& emitter, const Op& op) {
  const Literal& value = op.as<ConstantAttrs>().value;
  const TensorType& type = emitter.fn().type(op.results[0]);
  if (value.is_splat() || type.num_elements() == 1)
    return emitter.define_lazy(op.results[0], constant_expr(value));
  emitter.define_as(op.results[0], dense_view(emitter.storages().add_constant(value, false), type));
}

Emitter::ViewMap view_map(const Function& fn, const Op& op) {
  const Dims& shape = fn.type(op.results[0]).shape;
  switch (op.code) {
    case OpCode::kReshape:
      return [&](const View& v) { return reshaped(v, shape); };
    case OpCode::kBroadcastInDim:
      return
          [&](const View& v) { return broadcasted(v, shape, op.as<BroadcastInDimAttrs>().dims); };
    case OpCode::kTranspose:
      return [&](const View& v) { return transposed(v, op.as<TransposeAttrs>().permutation); };
    case OpCode::kReverse:
      return [&](const View& v) { return reversed(v, op.as<ReverseAttrs>().dims); };
    case OpCode::kSlice:
      return [&](const View& v) {
        const auto& slice = op.as<SliceAttrs>();
        return sliced(v, slice.start, slice.limit, slice.stride);
      };
    default:
      SPMD_UNREACHABLE("{} is no view", name_of(op.code));
  }
}

void lower_bitcast(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  const TensorType& from = emitter.fn().type(op.operands[0]);
  const TensorType& to = emitter.fn().type(op.results[0]);
  const auto sub_byte = [](DType d) { return bit_width(d) < 8; };
  if ((sub_byte(from.dtype) || sub_byte(to.dtype)) && bit_width(from.dtype) != bit_width(to.dtype))
    throw UserError(place_of(op),
                    fmt::format("bitcast_convert from {} to {}", to_string(from), to_string(to)),
                    "elements of less than a byte can only be reinterpreted as ones of their size");
  const bool same_size = byte_size(from.dtype) == byte_size(to.dtype);
  if (same_size && emitter.state(op.operands[0]).kind != ValueState::Kind::kStored)
    return emitter.fuse(id);
  if (std::optional<View> view = bitcasted(emitter.stored(op.operands[0]), to))
    return emitter.define_as(op.results[0], *view);
  // Wider elements begin at multiples of their size, which those of a window need not.
  emitter.define_as(op.results[0], *bitcasted(emitter.copied(op.operands[0]), to));
}

void lower_concatenate(Emitter& emitter, const Op& op) {
  const auto dim = static_cast<size_t>(op.as<ConcatenateAttrs>().dim);
  const View target = emitter.define(op.results[0]);
  emitter.storages()[target.storage].disjoint_writes = true;
  Dims start(target.shape.size(), 0), limit = target.shape;
  const Dims stride(target.shape.size(), 1);
  for (ValueId operand : op.operands) {
    limit[dim] = start[dim] + emitter.fn().type(operand).shape[dim];
    if (emitter.fn().type(operand).num_elements() > 0)
      emitter.write(operand, sliced(target, start, limit, stride));
    start[dim] = limit[dim];
  }
}

// Along one dimension: elements [source, source + count) of the operand go to target, target +
// step, ... of the result.
struct PadSpan {
  int64_t source = 0, count = 0, target = 0, step = 1;
};

PadSpan pad_span(int64_t size, int64_t out, int64_t low, int64_t interior) {
  PadSpan span;
  span.step = interior + 1;
  if (low < 0) span.source = (-low + span.step - 1) / span.step;
  span.target = low + span.source * span.step;
  const int64_t fitting = span.target >= out ? 0 : (out - 1 - span.target) / span.step + 1;
  span.count = std::max<int64_t>(0, std::min(size - span.source, fitting));
  return span;
}

// Fills what lies before and behind the operand's window, dimension by dimension.
void fill_borders(Emitter& emitter, ValueId padding, const View& target,
                  const std::vector<PadSpan>& spans) {
  Dims start(target.shape.size(), 0), limit = target.shape;
  const Dims stride(target.shape.size(), 1);
  for (size_t d = 0; d < spans.size(); ++d) {
    const int64_t begin = spans[d].target, end = begin + spans[d].count;
    limit[d] = begin;
    emitter.fill(padding, sliced(target, start, limit, stride));
    start[d] = end;
    limit[d] = target.shape[d];
    emitter.fill(padding, sliced(target, start, limit, stride));
    start[d] = begin;
    limit[d] = end;
  }
}

void lower_pad(Emitter& emitter, const Op& op) {
  const auto& pad = op.as<PadAttrs>();
  const View target = emitter.define(op.results[0]);
  const TensorType& type = emitter.fn().type(op.operands[0]);
  const size_t rank = type.shape.size();
  std::vector<PadSpan> spans;
  bool empty = false, interior = false, clipped = false;
  for (size_t d = 0; d < rank; ++d) {
    spans.push_back(pad_span(type.shape[d], target.shape[d], pad.low[d], pad.interior[d]));
    empty = empty || spans[d].count == 0;
    interior = interior || spans[d].step != 1;
    clipped = clipped || spans[d].count != type.shape[d];
  }
  if (empty || interior) {
    emitter.fill(op.operands[1], target);
  } else {
    emitter.storages()[target.storage].disjoint_writes = true;
    fill_borders(emitter, op.operands[1], target, spans);
  }
  if (empty) return;

  Dims start(rank), limit(rank), stride(rank), from(rank), to(rank);
  for (size_t d = 0; d < rank; ++d) {
    start[d] = spans[d].target;
    stride[d] = spans[d].step;
    limit[d] = start[d] + (spans[d].count - 1) * stride[d] + 1;
    from[d] = spans[d].source;
    to[d] = from[d] + spans[d].count;
  }
  const View window = sliced(target, start, limit, stride);
  if (!clipped) return emitter.write(op.operands[0], window);
  emitter.copy(sliced(emitter.stored(op.operands[0]), from, to, Dims(rank, 1)), window);
}

}  // namespace

void lower_shape(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  switch (op.code) {
    case OpCode::kConstant:
      return lower_constant(emitter, op);
    case OpCode::kIota:
      return emitter.define_lazy(
          op.results[0], iota_expr(emitter.fn().type(op.results[0]), op.as<IotaAttrs>().dim));
    case OpCode::kBitcastConvert:
      return lower_bitcast(emitter, id);
    case OpCode::kConcatenate:
      return lower_concatenate(emitter, op);
    case OpCode::kPad:
      return lower_pad(emitter, op);
    default:
      return emitter.define_view(op.results[0], op.operands[0], is_relabeling(emitter.fn(), op),
                                 view_map(emitter.fn(), op));
  }
}

}  // namespace spmd::codegen
