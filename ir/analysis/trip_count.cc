#include "ir/analysis/trip_count.h"

namespace spmd {
namespace {

__extension__ using Int = __int128;

constexpr size_t kCondition = 0, kBody = 1;

// The block argument's number in `block`, if `value` is one.
std::optional<size_t> argument_of(const Function& fn, ValueId value, BlockId block) {
  const Value& v = fn.value(value);
  if (v.def != OpId::kNone || v.block != block) return std::nullopt;
  return v.index;
}

// The value that a carry enters its loop with, when the body passes the carry on unchanged.
std::optional<ValueId> invariant_init(const Function& fn, ValueId carry) {
  const Value& v = fn.value(carry);
  const OpId loop = fn.block(v.block).parent;
  if (loop == OpId::kNone || fn.op(loop).code != OpCode::kWhile) return std::nullopt;
  const Op& op = fn.op(loop);
  const BlockId body = op.regions[kBody];
  const ValueId next = fn.op(fn.terminator(body)).operands[v.index];
  if (argument_of(fn, next, body) != v.index) return std::nullopt;
  return op.operands[v.index];
}

// The integer that a scalar always is.
std::optional<Int> constant_of(const Function& fn, ValueId value) {
  while (true) {
    const Op* def = fn.def(value);
    if (def == nullptr) {
      const std::optional<ValueId> init = invariant_init(fn, value);
      if (!init) return std::nullopt;
      value = *init;
      continue;
    }
    if (def->code == OpCode::kReshape && fn.type(def->operands[0]).num_elements() == 1) {
      value = def->operands[0];
      continue;
    }
    if (def->code != OpCode::kConstant) return std::nullopt;
    const Literal& literal = def->as<ConstantAttrs>().value;
    if (!is_integer(literal.type().dtype) || literal.type().num_elements() != 1)
      return std::nullopt;
    const int64_t bits = literal.as_int(0);
    // A U64 beyond the signed range is not worth the trouble.
    if (is_unsigned_int(literal.type().dtype) && bits < 0) return std::nullopt;
    return bits;
  }
}

// The constant by which the body moves carry `index`.
std::optional<Int> step_of(const Function& fn, BlockId body, size_t index) {
  const Op* next = fn.def(fn.op(fn.terminator(body)).operands[index]);
  if (next == nullptr) return std::nullopt;
  const bool subtract = next->code == OpCode::kSubtract;
  if (!subtract && next->code != OpCode::kAdd) return std::nullopt;
  ValueId carry = next->operands[0], amount = next->operands[1];
  if (!subtract && argument_of(fn, carry, body) != index) std::swap(carry, amount);
  if (argument_of(fn, carry, body) != index) return std::nullopt;
  std::optional<Int> step = constant_of(fn, amount);
  if (step && subtract) *step = -*step;
  return step;
}

CompareDirection mirrored(CompareDirection direction) {
  switch (direction) {
    case CompareDirection::kLt:
      return CompareDirection::kGt;
    case CompareDirection::kLe:
      return CompareDirection::kGe;
    case CompareDirection::kGt:
      return CompareDirection::kLt;
    case CompareDirection::kGe:
      return CompareDirection::kLe;
    default:
      return direction;
  }
}

bool fits(Int value, DType dtype) {
  const Int span = Int{1} << bit_width(dtype);
  return is_signed_int(dtype) ? value >= -span / 2 && value < span / 2 : value >= 0 && value < span;
}

// Steps until `start` + n * `step` no longer compares so with `limit`.
std::optional<Int> count_steps(Int start, Int limit, Int step, CompareDirection direction) {
  switch (direction) {
    case CompareDirection::kLe:
    case CompareDirection::kGe:
      limit += direction == CompareDirection::kLe ? 1 : -1;
      [[fallthrough]];
    case CompareDirection::kLt:
    case CompareDirection::kGt: {
      const bool up = direction == CompareDirection::kLt || direction == CompareDirection::kLe;
      const Int distance = up ? limit - start : start - limit;
      const Int stride = up ? step : -step;
      if (distance <= 0) return 0;
      if (stride <= 0) return std::nullopt;
      return (distance + stride - 1) / stride;
    }
    case CompareDirection::kNe:
      if (start == limit) return 0;
      if (step == 0 || (limit - start) % step != 0 || (limit - start) / step < 0)
        return std::nullopt;
      return (limit - start) / step;
    case CompareDirection::kEq:
      if (start != limit) return 0;
      return step != 0 ? std::optional<Int>(1) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> trip_count(const Function& fn, OpId while_op) {
  const Op& loop = fn.op(while_op);
  const BlockId condition = loop.regions[kCondition], body = loop.regions[kBody];
  const Op* test = fn.def(fn.op(fn.terminator(condition)).operands[0]);
  if (test == nullptr || test->code != OpCode::kCompare) return std::nullopt;

  CompareDirection direction = test->as<CompareAttrs>().direction;
  ValueId counter = test->operands[0], bound = test->operands[1];
  std::optional<Int> limit = constant_of(fn, bound);
  if (!limit) {
    std::swap(counter, bound);
    direction = mirrored(direction);
    limit = constant_of(fn, bound);
  }
  const std::optional<size_t> index = argument_of(fn, counter, condition);
  if (!limit || !index) return std::nullopt;

  const std::optional<Int> start = constant_of(fn, loop.operands[*index]);
  const std::optional<Int> step = step_of(fn, body, *index);
  if (!start || !step) return std::nullopt;
  const std::optional<Int> count = count_steps(*start, *limit, *step, direction);
  if (!count || !fits(*count, DType::kS64)) return std::nullopt;
  if (!fits(*start + *count * *step, fn.type(counter).dtype)) return std::nullopt;
  return static_cast<int64_t>(*count);
}

}  // namespace spmd
