// stablehlo.broadcast, and chlo.broadcast_*: binary ops whose operands need not have one shape.
#include <algorithm>

#include "ir/expand/expansion.h"
#include "support/error.h"

namespace spmd::expand {
namespace {

OpCode plain_code(OpCode code) {
  switch (code) {
    case OpCode::kBroadcastAdd:
      return OpCode::kAdd;
    case OpCode::kBroadcastAnd:
      return OpCode::kAnd;
    case OpCode::kBroadcastAtan2:
      return OpCode::kAtan2;
    case OpCode::kBroadcastCompare:
      return OpCode::kCompare;
    case OpCode::kBroadcastComplex:
      return OpCode::kComplex;
    case OpCode::kBroadcastDivide:
      return OpCode::kDivide;
    case OpCode::kBroadcastMaximum:
      return OpCode::kMaximum;
    case OpCode::kBroadcastMinimum:
      return OpCode::kMinimum;
    case OpCode::kBroadcastMultiply:
      return OpCode::kMultiply;
    case OpCode::kBroadcastNextAfter:
      return OpCode::kNextAfter;
    case OpCode::kBroadcastOr:
      return OpCode::kOr;
    case OpCode::kBroadcastPolygamma:
      return OpCode::kPolygamma;
    case OpCode::kBroadcastPower:
      return OpCode::kPower;
    case OpCode::kBroadcastRemainder:
      return OpCode::kRemainder;
    case OpCode::kBroadcastSelect:
      return OpCode::kSelect;
    case OpCode::kBroadcastShiftLeft:
      return OpCode::kShiftLeft;
    case OpCode::kBroadcastShiftRightArithmetic:
      return OpCode::kShiftRightArithmetic;
    case OpCode::kBroadcastShiftRightLogical:
      return OpCode::kShiftRightLogical;
    case OpCode::kBroadcastSubtract:
      return OpCode::kSubtract;
    case OpCode::kBroadcastXor:
      return OpCode::kXor;
    case OpCode::kBroadcastZeta:
      return OpCode::kZeta;
    default:
      SPMD_UNREACHABLE("{} broadcasts nothing", name_of(code));
  }
}

// Where the dimensions of an operand lie among `rank`.
Dims places(const Expansion& e, size_t index, size_t rank, bool is_lower) {
  const auto own = e.operand_type(index).shape.size();
  const std::optional<Dims>& stated = e.attrs<ImplicitBroadcastAttrs>().dims;
  Dims dims;
  if (stated && is_lower) {
    e.require(stated->size() == own,
              fmt::format("{} broadcast_dimensions for operand {} of rank {}", stated->size(),
                          index, own));
    int64_t last = -1;
    for (int64_t dim : *stated) {
      e.require(dim > last && dim < static_cast<int64_t>(rank),
                "broadcast_dimensions do not rise, or are out of range");
      last = dim;
    }
    return *stated;
  }
  for (size_t d = 0; d < own; ++d) dims.push_back(static_cast<int64_t>(rank - own + d));
  return dims;
}

}  // namespace

Values expand_broadcast(Expansion& e) {
  const TensorType& type = e.operand_type(0);
  Dims shape = e.attrs<BroadcastAttrs>().sizes, dims;
  for (int64_t size : shape) e.require(size >= 0, "a size is negative");
  for (int64_t size : type.shape) {
    dims.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(size);
  }
  return {e.b.broadcast(e.operand(0), std::move(shape), std::move(dims))};
}

Values expand_implicit_broadcast(Expansion& e) {
  const size_t count = e.op().operands.size();
  size_t rank = 0;
  for (size_t i = 0; i < count; ++i) rank = std::max(rank, e.operand_type(i).shape.size());
  Dims shape(rank, 1);
  std::vector<Dims> dims;
  for (size_t i = 0; i < count; ++i) {
    const Dims& own = e.operand_type(i).shape;
    dims.push_back(places(e, i, rank, own.size() < rank));
    for (size_t d = 0; d < own.size(); ++d) {
      int64_t& size = shape[static_cast<size_t>(dims[i][d])];
      e.require(own[d] >= 0, "a size is not known");
      e.require(own[d] == size || own[d] == 1 || size == 1,
                fmt::format("{} cannot be broadcast with the other operand: size {} meets {}",
                            to_string(e.operand_type(i)), own[d], size));
      if (size == 1) size = own[d];
    }
  }
  Values operands;
  for (size_t i = 0; i < count; ++i) {
    const ValueId operand = e.operand(i);
    operands.push_back(e.type(operand).shape == shape ? operand
                                                      : e.b.broadcast(operand, shape, dims[i]));
  }
  const OpCode code = plain_code(e.op().code);
  if (code == OpCode::kCompare) {
    return {e.b.value(code, operands, e.attrs<ImplicitBroadcastAttrs>().compare)};
  }
  if (family_of(code) == OpFamily::kExpanded) {  // visited next
    const TensorType type = e.type(operands[0]);
    return {e.fn.op(e.b.create(code, operands, {type})).results[0]};
  }
  return {e.b.value(code, operands)};
}

}  // namespace spmd::expand
