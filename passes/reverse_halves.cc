#include "passes/reverse_halves.h"

#include <optional>

#include "ir/builder.h"

namespace spmd {
namespace {

// One of the two: a slice, or a negated one.
struct Half {
  ValueId source = ValueId::kNone;
  bool is_negated = false;
  int64_t begin = 0;
};

// A half of its source along `dim`, all of it along the others; nullopt for other values.
std::optional<Half> half_of(const Function& fn, ValueId value, int64_t dim) {
  Half half;
  const Op* op = fn.def(value);
  if (op != nullptr && op->code == OpCode::kNegate) {
    half.is_negated = true;
    op = fn.def(op->operands[0]);
  }
  if (op == nullptr || op->code != OpCode::kSlice) return std::nullopt;
  const auto& slice = op->as<SliceAttrs>();
  half.source = op->operands[0];
  const TensorType& type = fn.type(half.source);
  for (int64_t d = 0; d < type.rank(); ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t size = slice.limit[i] - slice.start[i];
    if (slice.stride[i] != 1 || size != (d == dim ? type.dim(d) / 2 : type.dim(d)))
      return std::nullopt;
  }
  half.begin = slice.start[static_cast<size_t>(dim)];
  return half;
}

bool reverse(Function& fn, OpId id) {
  const Op& op = fn.op(id);
  if (op.operands.size() != 2) return false;
  const int64_t dim = op.as<ConcatenateAttrs>().dim;
  const TensorType type = fn.type(op.results[0]);
  const std::optional<Half> first = half_of(fn, op.operands[0], dim),
                            second = half_of(fn, op.operands[1], dim);
  if (!first || !second || first->source != second->source) return false;
  const int64_t size = type.dim(dim) / 2;
  if (fn.type(first->source).shape != type.shape || type.dim(dim) % 2 != 0 || size == 0 ||
      first->begin != size || second->begin != 0)
    return false;

  Builder builder = Builder::before(fn, id);
  builder.location = op.location;
  Dims split = type.shape;
  split[static_cast<size_t>(dim)] = size;
  split.insert(split.begin() + dim, 2);
  const ValueId halves = builder.reshape(first->source, split);
  ValueId result = builder.value(OpCode::kReverse, {halves}, ReverseAttrs{{dim}});
  if (first->is_negated && second->is_negated) {
    result = builder.value(OpCode::kNegate, {result});
  } else if (first->is_negated || second->is_negated) {
    const ValueId place = builder.iota({DType::kS32, split}, dim);
    const ValueId negated_place =
        builder.splat({DType::kS32, split}, first->is_negated ? 0.0 : 1.0);
    const ValueId is_negated = builder.compare(CompareDirection::kEq, place, negated_place);
    result = builder.select(is_negated, builder.value(OpCode::kNegate, {result}), result);
  }
  fn.replace_all_uses(op.results[0], builder.reshape(result, type.shape));
  fn.erase_op(id);
  return true;
}

}  // namespace

Pass reverse_halves_pass() {
  return {"reverse_halves", "exchanged halves as one tensor read backwards",
          [](Module& module, PassContext&) {
            Function& fn = module.main();
            bool changed = false;
            walk(fn, [&](OpId id) {
              if (fn.op(id).code == OpCode::kConcatenate) changed = reverse(fn, id) || changed;
            });
            return changed;
          }};
}

}  // namespace spmd
