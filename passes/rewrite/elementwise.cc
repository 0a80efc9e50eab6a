#include "passes/rewrite/match.h"
#include "passes/rewrite/patterns.h"

namespace spmd {
namespace {

bool square_is_a_product(Rewriter& rw, OpId id) {
  const ValueId x = rw.op(id).operands[0];
  return rw.replace(id, rw.before(id).binary(OpCode::kMultiply, x, x));
}

bool same_number(const Literal& a, const Literal& b) {
  if (a == b) return true;
  // +0 and -0 are the same addend.
  return is_float(a.type().dtype) && a.as_double(0) == 0 && b.as_double(0) == 0;
}

// x op identity, identity op x -> x
bool drop_identity(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const DType dtype = rw.type(op.results[0]).dtype;
  if (is_complex(dtype)) return false;
  for (size_t side = 0; side < 2; ++side) {
    const auto splat = splat_of(rw.fn(), op.operands[side]);
    if (splat && same_number(*splat, reducer_identity(op.code, dtype))) {
      return rw.replace(id, op.operands[1 - side]);
    }
  }
  return false;
}

// x and false -> false, x or true -> true, integer x * 0 -> 0
bool absorb(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const TensorType& type = rw.type(op.results[0]);
  const bool boolean = type.dtype == DType::kBool;
  if (!boolean && !is_integer(type.dtype)) return false;
  if (op.code == OpCode::kOr && !boolean) return false;
  const double absorbing = op.code == OpCode::kOr ? 1 : 0;
  for (ValueId operand : op.operands) {
    if (is_splat(rw.fn(), operand, absorbing)) return rw.replace(id, operand);
  }
  return false;
}

bool subtract_zero(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  return is_splat(rw.fn(), op.operands[1], 0) && rw.replace(id, op.operands[0]);
}

bool divide_by_one(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  return is_splat(rw.fn(), op.operands[1], 1) && rw.replace(id, op.operands[0]);
}

// -(-x), not(not(x))
bool cancel_twice(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const Op* inner = def_of(rw.fn(), op.operands[0], op.code);
  return inner != nullptr && rw.replace(id, inner->operands[0]);
}

bool convert_to_same_type(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  return rw.type(op.operands[0]) == rw.type(op.results[0]) && rw.replace(id, op.operands[0]);
}

// Converting by way of an integer type that wraps where another saturates is not the same.
bool may_skip(DType from, DType middle, DType to) {
  if (!converts_exactly(from, middle)) return false;
  const bool crosses = is_integer(from) && is_float(middle) && is_integer(to);
  return !crosses || converts_exactly(from, to);
}

bool convert_of_convert(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const Op* inner = def_of(rw.fn(), op.operands[0], OpCode::kConvert);
  if (inner == nullptr) return false;
  const ValueId source = inner->operands[0];
  const DType to = rw.type(op.results[0]).dtype;
  if (!may_skip(rw.type(source).dtype, rw.type(op.operands[0]).dtype, to)) return false;
  return rw.replace(id, rw.before(id).convert(source, to));
}

// The same over transposes and reshapes that nobody else reads: convert(transpose(convert(x))) to
// the type of x moves x itself.
bool convert_back_behind_moves(Rewriter& rw, OpId id) {
  std::vector<OpId> moves;
  ValueId value = rw.op(id).operands[0];
  for (OpId user = id;; user = moves.back(), value = rw.op(user).operands[0]) {
    const Op* move = def_of(rw.fn(), value, OpCode::kTranspose);
    if (move == nullptr) move = def_of(rw.fn(), value, OpCode::kReshape);
    if (move == nullptr || !only_used_by(rw.fn(), value, user)) break;
    moves.push_back(def_id(rw.fn(), value));
  }
  const Op* inner = def_of(rw.fn(), value, OpCode::kConvert);
  if (inner == nullptr || moves.empty()) return false;
  ValueId source = inner->operands[0];
  const DType type = rw.type(source).dtype;
  if (type != rw.type(rw.op(id).results[0]).dtype || !converts_exactly(type, rw.type(value).dtype))
    return false;
  for (; !moves.empty(); moves.pop_back()) {
    const Op& move = rw.op(moves.back());
    const Dims shape = rw.type(move.results[0]).shape;
    if (move.code == OpCode::kTranspose) {
      const Dims permutation = move.as<TransposeAttrs>().permutation;
      source = rw.before(id).transpose(source, permutation);
    } else {
      source = rw.before(id).reshape(source, shape);
    }
  }
  return rw.replace(id, source);
}

bool select_of_constant(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  if (op.operands[1] == op.operands[2]) return rw.replace(id, op.operands[1]);
  const auto predicate = splat_of(rw.fn(), op.operands[0]);
  return predicate && rw.replace(id, op.operands[predicate->as_int(0) != 0 ? 1 : 2]);
}

// x == true -> x, x == false -> not x, and the same for !=
bool compare_with_boolean(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  if (rw.type(op.operands[0]).dtype != DType::kBool) return false;
  const CompareDirection direction = op.as<CompareAttrs>().direction;
  if (direction != CompareDirection::kEq && direction != CompareDirection::kNe) return false;
  for (size_t side = 0; side < 2; ++side) {
    const auto splat = splat_of(rw.fn(), op.operands[side]);
    if (!splat) continue;
    const ValueId other = op.operands[1 - side];
    const bool keeps = (splat->as_int(0) != 0) == (direction == CompareDirection::kEq);
    return rw.replace(id, keeps ? other : rw.before(id).value(OpCode::kNot, {other}));
  }
  return false;
}

}  // namespace

void add_elementwise_patterns(PatternSet& patterns) {
  patterns.add(OpCode::kSquare, square_is_a_product);
  for (OpCode code : {OpCode::kAdd, OpCode::kMultiply, OpCode::kMaximum, OpCode::kMinimum,
                      OpCode::kAnd, OpCode::kOr, OpCode::kXor}) {
    patterns.add(code, drop_identity);
  }
  for (OpCode code : {OpCode::kAnd, OpCode::kOr, OpCode::kMultiply}) patterns.add(code, absorb);
  patterns.add(OpCode::kSubtract, subtract_zero);
  patterns.add(OpCode::kDivide, divide_by_one);
  patterns.add(OpCode::kNegate, cancel_twice);
  patterns.add(OpCode::kNot, cancel_twice);
  patterns.add(OpCode::kConvert, convert_to_same_type);
  patterns.add(OpCode::kConvert, convert_of_convert);
  patterns.add(OpCode::kConvert, convert_back_behind_moves);
  patterns.add(OpCode::kSelect, select_of_constant);
  patterns.add(OpCode::kCompare, compare_with_boolean);
}

}  // namespace spmd
