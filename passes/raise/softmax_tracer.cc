#include "passes/raise/softmax_tracer.h"

#include <algorithm>

#include "ir/builder.h"
#include "passes/raise/causal_mask.h"
#include "passes/rewrite/match.h"

namespace spmd::raise {
namespace {

using Kind = Traced::Kind;

// What masks put in the place of a score: its exponential is zero beside that of any real one.
constexpr double kHiddenScore = -1e4;

}  // namespace

void SoftmaxTracer::record(ValueId value, Traced traced) {
  if (traced_.emplace(value, std::move(traced)).second) values_.push_back(value);
}

const Traced* SoftmaxTracer::find(ValueId value) const {
  const auto found = traced_.find(value);
  return found == traced_.end() ? nullptr : &found->second;
}

std::optional<Traced> SoftmaxTracer::constant(ValueId value) const {
  const std::optional<Literal> splat = splat_of(fn_, value);
  if (!splat || !is_float(splat->type().dtype)) return std::nullopt;
  Traced traced;
  traced.expression = SoftmaxExpression::constant(splat->as_double(0));
  for (int64_t size : fn_.type(value).shape) traced.axes.push_back(size == 1 ? kOne : kSame);
  return traced;
}

// An operand beside `other`, which is known.
std::optional<Traced> SoftmaxTracer::operand(ValueId value, const Traced* other) const {
  if (const Traced* known = find(value)) return *known;
  if (std::optional<Traced> splat = constant(value)) return splat;
  if (other == nullptr || other->kind != Kind::kExpression) return std::nullopt;
  // A sum of a row, repeated along it, says what the dimensions of the other operand are.
  Axes axes = other->axes;
  if (!has_axis(axes, keys_)) std::replace(axes.begin(), axes.end(), kSame, keys_);
  if (!has_axis(axes, kSame)) find_gradient_(value, axes);
  return std::nullopt;
}

std::optional<Traced> SoftmaxTracer::moved(const Op& op) const {
  const Traced* from = find(op.operands[0]);
  if (from == nullptr) return std::nullopt;
  std::optional<Axes> axes = axes_of_result(fn_, op, from->axes);
  if (!axes) return std::nullopt;
  Traced result = *from;
  result.axes = std::move(*axes);
  return result;
}

std::optional<Traced> SoftmaxTracer::negation(const Op& op) const {
  const Traced* from = find(op.operands[0]);
  if (from == nullptr || from->kind != Kind::kExpression) return std::nullopt;
  Traced result = *from;
  result.expression = SoftmaxExpression().plus(from->expression, -1);
  return result;
}

std::optional<Traced> SoftmaxTracer::binary(const Op& op) const {
  std::optional<Traced> a = operand(op.operands[0], find(op.operands[1]));
  std::optional<Traced> b = operand(op.operands[1], a ? &*a : nullptr);
  if (!a || !b) return std::nullopt;
  std::optional<Axes> axes = joined(a->axes, b->axes);
  if (!axes) return std::nullopt;
  std::optional<Traced> result = arithmetic(op.code, *a, *b);
  if (result) result->axes = std::move(*axes);
  return result;
}

std::optional<Traced> SoftmaxTracer::arithmetic(OpCode code, const Traced& a,
                                                const Traced& b) const {
  if (a.kind == Kind::kExpression && b.kind == Kind::kExpression) {
    Traced result;
    switch (code) {
      case OpCode::kAdd:
        result.expression = a.expression.plus(b.expression);
        return result;
      case OpCode::kSubtract:
        result.expression = a.expression.plus(b.expression, -1);
        return result;
      case OpCode::kMultiply:
        result.expression = a.expression.times(b.expression);
        return result;
      default: {
        std::optional<SoftmaxExpression> quotient = a.expression.over(b.expression);
        if (!quotient) return std::nullopt;
        result.expression = std::move(*quotient);
        return result;
      }
    }
  }
  if (a.kind == Kind::kScores && b.kind == Kind::kMaximum && code == OpCode::kSubtract) {
    Traced result = a;
    result.kind = Kind::kShifted;
    return result;
  }
  // A scale, before the mask.
  const bool flipped = code == OpCode::kMultiply && b.kind == Kind::kScores;
  const Traced &scores = flipped ? b : a, &factor = flipped ? a : b;
  if (scores.kind != Kind::kScores || scores.causal || factor.kind != Kind::kExpression ||
      (code != OpCode::kMultiply && code != OpCode::kDivide)) {
    return std::nullopt;
  }
  const std::optional<double> number = factor.expression.constant_value();
  if (!number) return std::nullopt;
  Traced result = scores;
  result.scale = code == OpCode::kMultiply ? scores.scale * *number : scores.scale / *number;
  return result;
}

// Whether `mask` is true (or false, unless `visible_first`) for the keys that a query sees.
bool SoftmaxTracer::is_mask_of(const Axes& axes, ValueId mask, bool visible_first) {
  const std::optional<CausalMask> causal = causal_mask(fn_, mask);
  if (!causal || causal->hides == visible_first) return false;
  const Axis queries = axes[static_cast<size_t>(causal->query_dim)];
  if (axes[static_cast<size_t>(causal->key_dim)] != keys_ || queries < 0 || queries == keys_ ||
      (causal_queries_ != kOne && causal_queries_ != queries)) {
    return false;
  }
  causal_queries_ = queries;
  return true;
}

// Hides scores, or what is zero where scores are hidden.
std::optional<Traced> SoftmaxTracer::selection(const Op& op) {
  const bool first = find(op.operands[1]) != nullptr;
  const Traced* kept = find(op.operands[first ? 1 : 2]);
  if (kept == nullptr) return std::nullopt;
  const std::optional<Literal> other = splat_of(fn_, op.operands[first ? 2 : 1]);
  if (!other || !is_float(other->type().dtype)) return std::nullopt;
  const double replacement = other->as_double(0);
  const bool hides = kept->kind == Kind::kScores && !kept->causal && replacement <= kHiddenScore;
  const bool clears = kept->kind == Kind::kExpression && causal_ && replacement == 0 &&
                      kept->expression.vanishes_with_exponential();
  if (!(hides || clears) || !is_mask_of(kept->axes, op.operands[0], first)) return std::nullopt;
  Traced result = *kept;
  result.causal = hides;
  return result;
}

// Of all scores the same: a softmax does not change when a row is shifted.
std::optional<Traced> SoftmaxTracer::exponential(const Op& op) {
  const Traced* scores = find(op.operands[0]);
  if (scores == nullptr || (scores->kind != Kind::kShifted && scores->kind != Kind::kScores)) {
    return std::nullopt;
  }
  if (softmax_ && (softmax_->kind != scores->kind || softmax_->scale != scores->scale ||
                   softmax_->causal != scores->causal)) {
    return std::nullopt;
  }
  softmax_ = *scores;
  scale_ = scores->scale;
  causal_ = scores->causal;
  Traced result;
  result.axes = scores->axes;
  result.expression = SoftmaxExpression::exponential();
  return result;
}

std::optional<Traced> SoftmaxTracer::reduction(const Op& op) const {
  const Traced* from = op.results.size() == 1 ? find(op.operands[0]) : nullptr;
  if (from == nullptr) return std::nullopt;
  Traced result = *from;
  for (const int64_t dim : op.as<ReduceAttrs>().dims) {
    Axis& axis = result.axes[static_cast<size_t>(dim)];
    if (axis != kOne && axis != keys_) return std::nullopt;
    axis = kSame;
  }
  if (has_axis(result.axes, keys_) || !has_axis(from->axes, keys_)) return std::nullopt;
  Axes kept;
  for (size_t d = 0; d < result.axes.size(); ++d) {
    if (!contains(op.as<ReduceAttrs>().dims, static_cast<int64_t>(d))) {
      kept.push_back(result.axes[d]);
    }
  }
  result.axes = std::move(kept);
  const std::optional<OpCode> reducer = reducer_of(fn_, op.regions[0]);
  if (from->kind == Kind::kScores && reducer == OpCode::kMaximum) {
    result.kind = Kind::kMaximum;
    return result;
  }
  if (from->kind != Kind::kExpression || reducer != OpCode::kAdd ||
      !is_splat(fn_, op.operands[1], 0)) {
    return std::nullopt;
  }
  std::optional<SoftmaxExpression> sum = from->expression.summed();
  if (!sum) return std::nullopt;
  result.expression = std::move(*sum);
  return result;
}

bool SoftmaxTracer::visit(OpId id) {
  const Op& op = fn_.op(id);
  if (op.results.size() != 1) return false;
  const auto result = [&]() -> std::optional<Traced> {
    switch (op.code) {
      case OpCode::kReshape:
      case OpCode::kTranspose:
      case OpCode::kBroadcastInDim:
      case OpCode::kConvert:
        return moved(op);
      case OpCode::kNegate:
        return negation(op);
      case OpCode::kAdd:
      case OpCode::kSubtract:
      case OpCode::kMultiply:
      case OpCode::kDivide:
        return binary(op);
      case OpCode::kSelect:
        return selection(op);
      case OpCode::kExponential:
        return exponential(op);
      case OpCode::kReduce:
        return reduction(op);
      default:
        return std::nullopt;
    }
  }();
  if (result) record(op.results[0], *result);
  return result.has_value();
}

}  // namespace spmd::raise
