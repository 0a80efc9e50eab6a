#include <algorithm>
#include <optional>

#include "ir/evaluator.h"
#include "passes/analysis/purity.h"
#include "passes/rewrite/match.h"
#include "passes/rewrite/patterns.h"

namespace spmd {
namespace {

// Constants with more elements than this, splats apart, are computed when the program runs.
constexpr int64_t kMaxElements = 1024;

bool never_folded(const Op& op) {
  switch (op.code) {
    case OpCode::kConstant:
    case OpCode::kIota:
    case OpCode::kReturn:
    case OpCode::kCall:
    case OpCode::kCustomCall:
    case OpCode::kOptimizationBarrier:
    case OpCode::kRngBitGenerator:
    case OpCode::kShardingConstraint:
      return true;
    default:
      return op.operands.empty() || family_of(op.code) == OpFamily::kCollective;
  }
}

// The op on scalars in place of tensors: elementwise ops take splats to splats.
std::optional<Literal> fold_elementwise_splat(Rewriter& rw, const Op& op) {
  if (family_of(op.code) != OpFamily::kElementwise) return std::nullopt;
  std::vector<Literal> scalars;
  for (ValueId operand : op.operands) {
    auto scalar = splat_of(rw.fn(), operand);
    if (!scalar) return std::nullopt;
    scalars.push_back(std::move(*scalar));
  }
  Function scratch("scratch");
  std::vector<ValueId> arguments;
  for (const Literal& scalar : scalars) {
    arguments.push_back(scratch.add_block_argument(scratch.body(), scalar.type()));
  }
  const TensorType& type = rw.type(op.results[0]);
  const OpId id = scratch.insert_op(scratch.body(), OpId::kNone, op.code, std::move(arguments),
                                    {type.with_shape({})}, op.attrs, op.location);
  const Literal result = evaluate_op(rw.module(), scratch, id, scalars)[0];
  return Literal::splat(type, static_cast<const void*>(result.data()));
}

// Ops that only move elements take splats to splats.
std::optional<Literal> fold_shape_splat(Rewriter& rw, const Op& op) {
  switch (op.code) {
    case OpCode::kBroadcastInDim:
    case OpCode::kConcatenate:
    case OpCode::kPad:
    case OpCode::kReshape:
    case OpCode::kReverse:
    case OpCode::kSlice:
    case OpCode::kTranspose:
      break;
    default:
      return std::nullopt;
  }
  std::optional<Literal> first;
  for (ValueId operand : op.operands) {
    const auto splat = splat_of(rw.fn(), operand);
    if (!splat || (first && !(*splat == *first))) return std::nullopt;
    first = splat;
  }
  return Literal::splat(rw.type(op.results[0]), static_cast<const void*>(first->data()));
}

bool captures_outer_values(const Function& fn, const Op& op) {
  for (BlockId region : op.regions) {
    bool captures = false;
    walk(fn, region, [&](OpId inner) {
      for (ValueId operand : fn.op(inner).operands) {
        const Op* def = fn.def(operand);
        BlockId home = def ? def->block : fn.value(operand).block;
        while (home != region && home != BlockId::kNone) {
          const OpId parent = fn.block(home).parent;
          home = parent == OpId::kNone ? BlockId::kNone : fn.op(parent).block;
        }
        captures |= home != region;
      }
    });
    if (captures) return true;
  }
  return false;
}

std::optional<std::vector<Literal>> fold_small(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  // Loops may run for long, or for ever.
  if (!op.regions.empty() && op.code != OpCode::kReduce) return std::nullopt;
  for (ValueId result : op.results) {
    if (rw.type(result).num_elements() > kMaxElements) return std::nullopt;
  }
  std::vector<Literal> operands;
  for (ValueId operand : op.operands) {
    const Literal* literal = constant_of(rw.fn(), operand);
    if (literal == nullptr || literal->type().num_elements() > kMaxElements) return std::nullopt;
    operands.push_back(*literal);
  }
  if (!is_pure(rw.module(), rw.fn(), id) || captures_outer_values(rw.fn(), op)) return std::nullopt;
  return evaluate_op(rw.module(), rw.fn(), id, operands);
}

bool fold(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  if (never_folded(op) || op.results.empty()) return false;
  std::vector<Literal> literals;
  if (auto splat = fold_elementwise_splat(rw, op)) {
    literals.push_back(std::move(*splat));
  } else if (auto moved = fold_shape_splat(rw, op)) {
    literals.push_back(std::move(*moved));
  } else if (auto small = fold_small(rw, id)) {
    literals = std::move(*small);
  } else {
    return false;
  }
  Builder builder = rw.before(id);
  std::vector<ValueId> constants;
  for (Literal& literal : literals) constants.push_back(builder.constant(std::move(literal)));
  return rw.replace(id, constants);
}

}  // namespace

void add_constant_folding(PatternSet& patterns) { patterns.add(fold); }

}  // namespace spmd
