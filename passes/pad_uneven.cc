#include "passes/pad_uneven.h"

#include <algorithm>

#include "passes/partition/local_op.h"
#include "passes/partition/minor_axes.h"
#include "passes/partition/uneven_padder.h"
#include "sharding/propagation/propagation.h"
#include "support/error.h"

namespace spmd {

std::vector<Placement> UnevenPadder::read_placements() const {
  std::vector<Placement> placements;
  placements.reserve(from_.num_value_ids());
  for (size_t i = 0; i < from_.num_value_ids(); ++i) {
    const Value& value = from_.value(static_cast<ValueId>(i));
    placements.push_back(value.sharding ? to_placement(*value.sharding, atoms_)
                                        : Placement::replicated(value.type.rank()));
  }
  return placements;
}

// ---- sizes

ValueId UnevenPadder::resize(ValueId value, const Placement& placement, const Dims& shape,
                             Builder& builder) {
  const Dims now = to_.type(value).shape;
  if (now == shape) return value;
  Dims limit = now, grow(now.size(), 0);
  for (size_t d = 0; d < now.size(); ++d) {
    limit[d] = std::min(now[d], shape[d]);
    grow[d] = shape[d] - limit[d];
  }
  if (limit != now) {
    value = placed(builder.slice(value, Dims(now.size(), 0), limit), placement);
  }
  if (std::any_of(grow.begin(), grow.end(), [](int64_t g) { return g > 0; })) {
    const ValueId zero = placed(builder.scalar(to_.type(value).dtype, 0), Placement());
    value = placed(builder.pad(value, zero, Dims(now.size(), 0), grow), placement);
  }
  return value;
}

// An op that runs on blocks of their true size can do so only when that divides.
void UnevenPadder::require_divisible(const Op& op, const TensorFactors& tensor,
                                     const FactorRule& rule, const Dims& shape,
                                     const Placement& placement) const {
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t shards = atoms_.extent(placement.dims[d]);
    if (shape[d] % shards == 0) continue;
    if (!tensor.dims[d].empty() && rule.factors[static_cast<size_t>(tensor.dims[d][0])].exchanged) {
      continue;
    }
    throw UserError(
        op.location ? op.location->to_string() : module_.source,
        fmt::format("dimension {} is cut into {} shards, but {} needs its true size {}", d, shards,
                    name_of(op.code), shape[d]),
        fmt::format("choose a mesh whose axes divide it, or leave the dimension whole; the value "
                    "is placed {}",
                    to_string(placement, atoms_)));
  }
}

// The same of an op that has no rule.
void UnevenPadder::require_divisible(const Op& op, ValueId value) const {
  const Dims& shape = from_.type(value).shape;
  require_divisible(op, {std::vector<DimFactors>(shape.size())}, {}, shape, placement(value));
}

// The new value that stands for `old`, in another size.
ValueId UnevenPadder::resized(ValueId old, const Dims& shape, Builder& builder) {
  const ValueId value = map_.at(old);
  if (to_.type(value).shape == shape) return value;
  if (is_free_source(from_, old)) {
    const ValueId made = made_anew(*from_.def(old), from_.type(old).with_shape(shape), builder);
    if (made != ValueId::kNone) return placed(made, placement(old));
  }
  return resize(value, placement(old), shape, builder);
}

// ---- ops

void UnevenPadder::copy(OpId id, Builder& builder) {
  const Op& op = from_.op(id);
  if (std::optional<FactorRule> rule = factor_rule(from_, id)) {
    copy_with_rule(id, *rule, builder);
    return;
  }
  switch (op.code) {
    case OpCode::kReturn:
    case OpCode::kWhile:
    case OpCode::kIf:
    case OpCode::kCase:
    case OpCode::kOptimizationBarrier:
    case OpCode::kReshard:
      return copy_control_flow(op, builder);
    case OpCode::kManualComputation:
      return copy_manual(op, builder);
    default:
      return copy_opaque(id, builder);
  }
}

void UnevenPadder::copy_with_rule(OpId id, const FactorRule& rule, Builder& builder) {
  const Op& op = from_.op(id);
  const std::vector<int64_t> sizes = classes_.factor_sizes(id, rule);
  const auto shape_of = [&](const TensorFactors& tensor, const Dims& old) {
    Dims shape = old;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (tensor.dims[d].empty()) continue;
      if (rule.factors[static_cast<size_t>(tensor.dims[d][0])].exchanged) continue;
      shape[d] = 1;
      for (int factor : tensor.dims[d]) shape[d] *= sizes[static_cast<size_t>(factor)];
    }
    return shape;
  };
  std::vector<ValueId> operands;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Dims shape = shape_of(rule.operands[i], from_.type(op.operands[i]).shape);
    require_divisible(op, rule.operands[i], rule, shape, placement(op.operands[i]));
    operands.push_back(resized(op.operands[i], shape, builder));
  }
  mask_operands(op, rule, sizes, operands, builder);
  std::vector<TensorType> types;
  for (size_t i = 0; i < op.results.size(); ++i) {
    const TensorType& old = from_.type(op.results[i]);
    types.push_back(old.with_shape(shape_of(rule.results[i], old.shape)));
  }
  const FactorAssignment unplaced{std::vector<AtomList>(rule.factors.size())};
  LocalOp local{from_,   op, rule, unplaced, atoms_, builder, std::move(operands), std::move(types),
                op.attrs};
  if (op.code == OpCode::kConstant && !op.as<ConstantAttrs>().value.is_splat()) {
    local.types[0] = from_.type(op.results[0]);  // grows by a pad
  } else if (op.code == OpCode::kConstant) {
    const Literal& literal = op.as<ConstantAttrs>().value;
    local.attrs =
        ConstantAttrs{Literal::splat(local.types[0], static_cast<const void*>(literal.data()))};
  }
  const LocalResult created = create_local(local);
  for (BlockId source : op.regions) copy_verbatim(source, to_.add_region(created.created));
  for (size_t i = 0; i < op.results.size(); ++i) {
    const ValueId value = placed(created.values[i], placement(op.results[i]));
    map_[op.results[i]] =
        is_free_source(from_, op.results[i])
            ? value
            : resize(value, placement(op.results[i]), new_type(op.results[i]).shape, builder);
  }
}

// Ops whose operands, results and regions carry the same values.
void UnevenPadder::copy_control_flow(const Op& op, Builder& builder) {
  // The value that says which size operand i must have.
  const auto carrier = [&](size_t i) -> ValueId {
    if (op.code == OpCode::kWhile || op.code == OpCode::kOptimizationBarrier ||
        op.code == OpCode::kReshard) {
      return op.results[i];
    }
    const OpId parent = from_.block(op.block).parent;
    if (op.code == OpCode::kReturn && parent != OpId::kNone) {
      const Op& outer = from_.op(parent);
      const bool condition = outer.code == OpCode::kWhile && outer.regions[0] == op.block;
      return condition ? op.operands[i] : outer.results[i];
    }
    return op.operands[i];
  };
  std::vector<ValueId> operands;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    operands.push_back(resized(op.operands[i], new_type(carrier(i)).shape, builder));
  }
  std::vector<TensorType> types;
  for (ValueId result : op.results) types.push_back(new_type(result));
  const OpId created = builder.create(op.code, std::move(operands), std::move(types), op.attrs);
  for (BlockId source : op.regions) copy_region(source, to_.add_region(created));
  map_results(op, created);
}

// A manual computation takes and gives true sizes; inside, dimensions that other axes cut are
// padded.
void UnevenPadder::copy_manual(const Op& op, Builder& builder) {
  std::vector<ValueId> operands;
  std::vector<TensorType> types;
  for (ValueId operand : op.operands) {
    require_divisible(op, operand);
    operands.push_back(resized(operand, from_.type(operand).shape, builder));
  }
  for (ValueId result : op.results) types.push_back(from_.type(result));
  const OpId created = builder.create(op.code, std::move(operands), std::move(types), op.attrs);
  const BlockId source = op.regions[0], region = to_.add_region(created);
  Builder inner(to_, region);
  for (ValueId argument : from_.block(source).args) {
    map_[argument] =
        to_.add_block_argument(region, from_.type(argument), from_.value(argument).sharding);
  }
  for (ValueId argument : from_.block(source).args) {
    map_[argument] =
        resize(map_.at(argument), placement(argument), new_type(argument).shape, inner);
  }
  const OpId last = from_.terminator(source);
  for (OpId id = from_.block(source).first; id != last; id = from_.op(id).next) {
    inner.location = from_.op(id).location;
    copy(id, inner);
  }
  std::vector<ValueId> returned;
  for (ValueId value : from_.op(last).operands) {
    require_divisible(op, value);
    returned.push_back(resized(value, from_.type(value).shape, inner));
  }
  inner.return_op(std::move(returned));
  for (size_t i = 0; i < op.results.size(); ++i) {
    const ValueId value = placed(to_.op(created).results[i], placement(op.results[i]));
    map_[op.results[i]] =
        resize(value, placement(op.results[i]), new_type(op.results[i]).shape, builder);
  }
}

// Everything else sees true sizes.
void UnevenPadder::copy_opaque(OpId id, Builder& builder) {
  const Op& op = from_.op(id);
  ValueMap values;
  for (ValueId operand : op.operands) {
    require_divisible(op, operand);
    values[operand] = resized(operand, from_.type(operand).shape, builder);
  }
  const auto take_captures = [&](OpId inner) {
    for (ValueId operand : from_.op(inner).operands) {
      if (!map_.contains(operand) || values.contains(operand)) continue;
      require_divisible(op, operand);
      values[operand] = resized(operand, from_.type(operand).shape, builder);
    }
  };
  for (BlockId region : op.regions) walk(from_, region, take_captures);
  const OpId created = clone_op(from_, id, builder, values);
  for (size_t i = 0; i < op.results.size(); ++i) {
    const ValueId value = placed(to_.op(created).results[i], placement(op.results[i]));
    map_[op.results[i]] =
        resize(value, placement(op.results[i]), new_type(op.results[i]).shape, builder);
  }
}

Pass pad_uneven_pass() {
  return {"pad_uneven", "pad dimensions that their shards do not divide",
          [](Module& module, PassContext& context) {
            if (module.mesh.num_axes() == 0) return false;
            const MinorAxesReleased released = release_minor_axes(module, context.options.cost);
            if (!released.leaves_padding) return released.changed;
            return UnevenPadder(module, context).run() || released.changed;
          }};
}

}  // namespace spmd
