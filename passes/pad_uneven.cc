#include "passes/pad_uneven.h"

#include <algorithm>

#include "passes/partition/dimension_classes.h"
#include "passes/partition/local_op.h"
#include "passes/partition/minor_axes.h"
#include "passes/partition/rebuilder.h"
#include "sharding/propagation/propagation.h"
#include "support/error.h"

namespace spmd {
namespace {

class UnevenPadder : public Rebuilder {
 public:
  UnevenPadder(Module& module, PassContext& context)
      : Rebuilder(module.main()),
        module_(module),
        context_(context),
        atoms_(module.mesh),
        costs_(atoms_, context.options.cost),
        placements_(read_placements()),
        classes_(from_, placements_, atoms_, costs_) {}

  bool run() {
    if (!classes_.any_padding()) return false;
    rebuild_function();
    for (size_t i = 0; i < from_.arguments().size(); ++i) {
      to_.argument_info[i].global_shape = from_.type(from_.arguments()[i]).shape;
    }
    for (size_t i = 0; i < from_.results().size(); ++i) {
      to_.result_info[i].global_shape = from_.type(from_.results()[i]).shape;
    }
    module_.main() = std::move(to_);
    return true;
  }

 private:
  std::vector<Placement> read_placements() const;
  const Placement& placement(ValueId old) const { return placements_[index_of(old)]; }
  TensorType new_type(ValueId old) const override {
    return from_.type(old).with_shape(classes_.padded_shape(old));
  }

  void copy(OpId id, Builder& builder) override;
  void copy_with_rule(OpId id, const FactorRule& rule, Builder& builder);
  void copy_control_flow(const Op& op, Builder& builder);
  void copy_opaque(OpId id, Builder& builder);
  void copy_manual(const Op& op, Builder& builder);

  ValueId resized(ValueId old, const Dims& shape, Builder& builder);
  ValueId resize(ValueId value, const Placement& placement, const Dims& shape, Builder& builder);
  void check_divides(const Placement& placement, const Dims& shape, const Builder& builder) const;
  void mask_operands(const Op& op, const FactorRule& rule, const std::vector<int64_t>& sizes,
                     std::vector<ValueId>& operands, Builder& builder);
  ValueId mask(ValueId value, const Placement& placement, int64_t dim, int64_t true_size,
               const Literal& filler, Builder& builder);
  ValueId clamp_indices(const Op& op, ValueId indices, Builder& builder);

  ValueId placed(ValueId value, const Placement& placement) {
    to_.value(value).sharding = std::make_shared<const Sharding>(to_sharding(placement, atoms_));
    return value;
  }
  std::string place_of(const Builder& builder) const {
    return builder.location ? builder.location->to_string() : module_.source;
  }
  ValueId reshard(ValueId value, const Placement& placement, Builder& builder) {
    return placed(
        builder.value(OpCode::kReshard, {value}, ReshardAttrs{to_sharding(placement, atoms_)}),
        placement);
  }
  // A value made of constants, resharded to `placement`.
  ValueId source_placed(ValueId value, const Placement& placement, Builder& builder) {
    placed(value, Placement::replicated(to_.type(value).rank()));
    return placement.is_replicated() ? value : reshard(value, placement, builder);
  }

  Module& module_;
  PassContext& context_;
  AtomTable atoms_;
  ReshardCosts costs_;
  std::vector<Placement> placements_;
  DimensionClasses classes_;
};

std::vector<Placement> UnevenPadder::read_placements() const {
  std::vector<Placement> placements;
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
  // Blocks of another size lie elsewhere: a cut dimension is made whole for the change.
  Placement whole = placement;
  for (size_t d = 0; d < now.size(); ++d) {
    if (now[d] != shape[d]) whole.dims[d].clear();
  }
  if (!(whole == placement)) {
    check_divides(placement, shape, builder);
    context_.remarks.push_back(
        {"pad_uneven", place_of(builder),
         fmt::format("{} is gathered on every device to become {}: shards that do not divide it "
                     "are padded, and here its true size counts",
                     to_string(to_.type(value)), to_string(to_.type(value).with_shape(shape)))});
    value = reshard(value, whole, builder);
    return reshard(resize(value, whole, shape, builder), placement, builder);
  }
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

void UnevenPadder::check_divides(const Placement& placement, const Dims& shape,
                                 const Builder& builder) const {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] % atoms_.extent(placement.dims[d]) != 0) {
      throw UserError(
          place_of(builder),
          fmt::format("dimension {} is cut into {} shards, but the op needs its true size {}", d,
                      atoms_.extent(placement.dims[d]), shape[d]),
          fmt::format("choose a mesh whose axes divide it, or leave the dimension whole; the value "
                      "is placed {}",
                      to_string(placement, atoms_)));
    }
  }
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

// ---- masks

ValueId UnevenPadder::mask(ValueId value, const Placement& placement, int64_t dim,
                           int64_t true_size, const Literal& filler, Builder& builder) {
  const TensorType type = to_.type(value);
  Placement whole = placement;
  whole.partial.clear();
  Placement line;
  line.dims = {whole.dims[static_cast<size_t>(dim)]};
  const TensorType index_type{DType::kS32, {type.dim(dim)}};
  const ValueId index = source_placed(builder.iota(index_type, 0), line, builder);
  const ValueId bound =
      source_placed(builder.splat(index_type, static_cast<double>(true_size)), line, builder);
  const ValueId inside = placed(builder.compare(CompareDirection::kLt, index, bound), line);
  const ValueId predicate = placed(builder.broadcast(inside, type.shape, {dim}), whole);
  const ValueId fill =
      source_placed(builder.constant(Literal::splat(type, static_cast<const void*>(filler.data()))),
                    whole, builder);
  return placed(builder.select(predicate, value, fill), placement);
}

ValueId UnevenPadder::clamp_indices(const Op& op, ValueId indices, Builder& builder) {
  // Padded operands: an index beyond the true size means its last slice.
  const auto& attrs = op.as<GatherAttrs>();
  const TensorType type = to_.type(indices);
  const TensorType& operand = from_.type(op.operands[0]);
  const Placement& where = placement(op.operands[1]);
  const auto bounds_size = static_cast<int64_t>(attrs.start_index_map.size());
  std::vector<int32_t> bounds;
  for (int64_t dim : attrs.start_index_map) {
    bounds.push_back(
        static_cast<int32_t>(operand.dim(dim) - attrs.slice_sizes[static_cast<size_t>(dim)]));
  }
  ValueId bound;
  if (bounds.size() == 1) {
    bound = source_placed(builder.splat(type, bounds[0]), where, builder);
  } else {
    const ValueId vector = placed(
        builder.convert(
            placed(builder.constant(Literal::of(TensorType{DType::kS32, {bounds_size}}, bounds)),
                   Placement::replicated(1)),
            type.dtype),
        Placement::replicated(1));
    bound = placed(builder.broadcast(vector, type.shape, {attrs.index_vector_dim}), where);
  }
  const ValueId zero = source_placed(builder.splat(type, 0), where, builder);
  return placed(builder.value(OpCode::kClamp, {zero, indices, bound}), where);
}

void UnevenPadder::mask_operands(const Op& op, const FactorRule& rule,
                                 const std::vector<int64_t>& sizes, std::vector<ValueId>& operands,
                                 Builder& builder) {
  const bool scatter = op.code == OpCode::kScatter;
  for (size_t i = 0; i < operands.size(); ++i) {
    // A scatter drops updates whose index is out of range; only the indices need a mask.
    if (scatter && i != op.results.size()) continue;
    const TensorFactors& tensor = rule.operands[i];
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      if (tensor.dims[d].empty()) continue;
      const auto f = static_cast<size_t>(tensor.dims[d][0]);
      if (rule.factors[f].kind != FactorKind::kReduction || sizes[f] == rule.factors[f].size) {
        continue;
      }
      const DType dtype = from_.type(op.operands[i]).dtype;
      const OpCode reducer = op.code == OpCode::kReduce ? reducer_opcode(rule.reduction, dtype)
                             : scatter                  ? OpCode::kMinimum
                                                        : OpCode::kAdd;
      Literal filler = reducer_identity(reducer, dtype);
      // Far enough for the whole of a window.
      if (scatter && is_signed_int(dtype)) filler = reducer_identity(OpCode::kMaximum, dtype);
      operands[i] = mask(operands[i], placement(op.operands[i]), static_cast<int64_t>(d),
                         from_.type(op.operands[i]).shape[d], filler, builder);
    }
  }
  if (op.code != OpCode::kGather) return;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    if (rule.factors[f].kind == FactorKind::kIndexed && sizes[f] != rule.factors[f].size) {
      operands[1] = clamp_indices(op, operands[1], builder);
      return;
    }
  }
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
      shape[d] = 1;
      for (int factor : tensor.dims[d]) shape[d] *= sizes[static_cast<size_t>(factor)];
    }
    return shape;
  };
  std::vector<ValueId> operands;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Dims shape = shape_of(rule.operands[i], from_.type(op.operands[i]).shape);
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
    values[operand] = resized(operand, from_.type(operand).shape, builder);
  }
  const auto take_captures = [&](OpId inner) {
    for (ValueId operand : from_.op(inner).operands) {
      if (!map_.contains(operand) || values.contains(operand)) continue;
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

}  // namespace

Pass pad_uneven_pass() {
  return {"pad_uneven", "pad dimensions that their shards do not divide",
          [](Module& module, PassContext& context) {
            if (module.mesh.num_axes() == 0) return false;
            const bool released = release_minor_axes(module, context.options.cost);
            return UnevenPadder(module, context).run() || released;
          }};
}

}  // namespace spmd
