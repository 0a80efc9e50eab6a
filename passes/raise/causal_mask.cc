#include "passes/raise/causal_mask.h"

#include <algorithm>

#include "passes/raise/axes.h"
#include "passes/rewrite/match.h"

namespace spmd::raise {
namespace {

// Positions along a dimension, plus an offset.
struct Counter {
  size_t dim;
  int64_t offset;
};

std::optional<size_t> only_named(const Axes& axes) {
  for (size_t d = 0; d < axes.size(); ++d) {
    if (axes[d] >= 0) return d;
  }
  return std::nullopt;
}

std::optional<int64_t> integer_splat(const Function& fn, ValueId value) {
  const std::optional<Literal> splat = splat_of(fn, value);
  if (!splat || !is_integer(splat->type().dtype)) return std::nullopt;
  return splat->as_int(0);
}

std::optional<Counter> counter(const Function& fn, ValueId value) {
  const Op* op = fn.def(value);
  if (op == nullptr) return std::nullopt;
  switch (op->code) {
    case OpCode::kIota:
      return Counter{static_cast<size_t>(op->as<IotaAttrs>().dim), 0};
    case OpCode::kAdd:
    case OpCode::kSubtract: {
      const std::optional<int64_t> offset = integer_splat(fn, op->operands[1]);
      std::optional<Counter> base = counter(fn, op->operands[0]);
      if (!offset || !base) return std::nullopt;
      base->offset += op->code == OpCode::kAdd ? *offset : -*offset;
      return base;
    }
    case OpCode::kBroadcastInDim:
    case OpCode::kReshape:
    case OpCode::kTranspose: {
      const std::optional<Counter> base = counter(fn, op->operands[0]);
      if (!base) return std::nullopt;
      Axes axes(fn.type(op->operands[0]).shape.size(), kSame);
      axes[base->dim] = 0;
      const std::optional<Axes> result = axes_of_result(fn, *op, axes);
      const std::optional<size_t> dim = result ? only_named(*result) : std::nullopt;
      if (!dim) return std::nullopt;
      return Counter{*dim, base->offset};
    }
    default:
      return std::nullopt;
  }
}

// x >= y, x > y, y <= x or y < x, for counters x and y.
std::optional<CausalMask> comparison(const Function& fn, const Op& op) {
  std::optional<Counter> x = counter(fn, op.operands[0]), y = counter(fn, op.operands[1]);
  if (!x || !y || x->dim == y->dim) return std::nullopt;
  CompareDirection direction = op.as<CompareAttrs>().direction;
  if (direction == CompareDirection::kLe || direction == CompareDirection::kLt) {
    std::swap(x, y);
    direction = direction == CompareDirection::kLe ? CompareDirection::kGe : CompareDirection::kGt;
  }
  if (direction != CompareDirection::kGe && direction != CompareDirection::kGt) return std::nullopt;
  // True where the position along x is at least `least` more than that along y.
  const int64_t least = y->offset - x->offset + (direction == CompareDirection::kGt ? 1 : 0);
  const auto x_dim = static_cast<int64_t>(x->dim), y_dim = static_cast<int64_t>(y->dim);
  if (least == 0) return CausalMask{x_dim, y_dim, /*hides=*/false};
  if (least == 1) return CausalMask{y_dim, x_dim, /*hides=*/true};
  return std::nullopt;
}

std::optional<CausalMask> negated(std::optional<CausalMask> mask) {
  if (mask) mask->hides = !mask->hides;
  return mask;
}

std::optional<CausalMask> selection(const Function& fn, const Op& op) {
  const std::optional<CausalMask> mask = causal_mask(fn, op.operands[0]);
  if (is_splat(fn, op.operands[1], 1) && is_splat(fn, op.operands[2], 0)) return mask;
  if (is_splat(fn, op.operands[1], 0) && is_splat(fn, op.operands[2], 1)) return negated(mask);
  return std::nullopt;
}

std::optional<CausalMask> moved(const Function& fn, const Op& op) {
  const std::optional<CausalMask> mask = causal_mask(fn, op.operands[0]);
  if (!mask) return std::nullopt;
  Axes axes(fn.type(op.operands[0]).shape.size(), kSame);
  axes[static_cast<size_t>(mask->query_dim)] = 0;
  axes[static_cast<size_t>(mask->key_dim)] = 1;
  const std::optional<Axes> result = axes_of_result(fn, op, axes);
  if (!result) return std::nullopt;
  const auto dim_of = [&](Axis axis) {
    return std::find(result->begin(), result->end(), axis) - result->begin();
  };
  const CausalMask there{dim_of(0), dim_of(1), mask->hides};
  const auto rank = static_cast<int64_t>(result->size());
  if (there.query_dim == rank || there.key_dim == rank) return std::nullopt;
  return there;
}

}  // namespace

std::optional<CausalMask> causal_mask(const Function& fn, ValueId mask) {
  const Op* op = fn.def(mask);
  if (op == nullptr) return std::nullopt;
  switch (op->code) {
    case OpCode::kCompare:
      return comparison(fn, *op);
    case OpCode::kNot:
      return negated(causal_mask(fn, op->operands[0]));
    case OpCode::kSelect:
      return selection(fn, *op);
    case OpCode::kBroadcastInDim:
    case OpCode::kReshape:
    case OpCode::kTranspose:
      return moved(fn, *op);
    default:
      return std::nullopt;
  }
}

}  // namespace spmd::raise
