#include "passes/partition/lower_reshard.h"

#include <algorithm>

#include "passes/partition/local_op.h"
#include "sharding/rules/factor_rule.h"
#include "support/error.h"

namespace spmd {
namespace {

class ReshardLowering {
 public:
  ReshardLowering(Builder& builder, const AtomTable& atoms) : b_(builder), atoms_(atoms) {}

  ValueId lower(ValueId value, const Placement& from, const ReshardPlan& plan) {
    Placement state = from;
    for (const ReshardStep& step : plan.steps) {
      const Placement next = to_placement(step.result, atoms_);
      value = emit(value, step, state, next);
      state = next;
    }
    return value;
  }

 private:
  const TensorType& type(ValueId value) { return b_.function().type(value); }

  ValueId collective(OpCode code, ValueId value, TensorType result, Attrs attrs) {
    return b_.function()
        .op(b_.create(code, {value}, {std::move(result)}, std::move(attrs)))
        .results[0];
  }

  ValueId reducing(OpCode code, ValueId value, TensorType result, Attrs attrs, ReductionKind kind) {
    const DType dtype = result.dtype;
    const OpId op = b_.create(code, {value}, {std::move(result)}, std::move(attrs));
    add_reducer_region(b_.function(), op, reducer_opcode(kind, dtype), dtype);
    return b_.function().op(op).results[0];
  }

  TensorType scaled(const TensorType& from, int64_t dim, int64_t multiply, int64_t divide) {
    TensorType result = from;
    int64_t& size = result.shape[static_cast<size_t>(dim)];
    size = size * multiply / divide;
    return result;
  }

  ValueId slice(ValueId value, int64_t dim, const AxisList& axes) {
    const int64_t parts = axes_size(axes, atoms_.mesh());
    const TensorType result = scaled(type(value), dim, 1, parts);
    std::vector<ValueId> operands = {value};
    for (int64_t d = 0; d < result.rank(); ++d) {
      operands.push_back(
          d == dim ? axis_offset(b_, atoms_.to_atoms(axes), atoms_, DType::kS32, result.dim(d))
                   : b_.scalar(DType::kS32, 0));
    }
    return b_.value(OpCode::kDynamicSlice, std::move(operands), DynamicSliceAttrs{result.shape});
  }

  bool is_identity(ValueId value, ReductionKind kind) {
    const Op* op = b_.function().def(value);
    if (op != nullptr && op->code == OpCode::kBroadcastInDim) {
      op = b_.function().def(op->operands[0]);
    }
    if (op == nullptr || op->code != OpCode::kConstant) return false;
    const Literal& literal = op->as<ConstantAttrs>().value;
    if (!literal.is_splat() && literal.type().num_elements() != 1) return false;
    const DType dtype = literal.type().dtype;
    const Literal identity = reducer_identity(reducer_opcode(kind, dtype), dtype);
    return std::memcmp(identity.data(), literal.data(), static_cast<size_t>(byte_size(dtype))) == 0;
  }

  ValueId make_partial(ValueId value, const AxisList& axes, ReductionKind kind) {
    if (is_identity(value, kind)) return value;
    const TensorType result = type(value);
    const ValueId index = axis_offset(b_, atoms_.to_atoms(axes), atoms_, DType::kS32, 1);
    const ValueId first = b_.compare(CompareDirection::kEq, index, b_.scalar(DType::kS32, 0));
    const ValueId identity = b_.broadcast(
        b_.constant(reducer_identity(reducer_opcode(kind, result.dtype), result.dtype)),
        result.shape, {});
    return b_.select(first, value, identity);
  }

  // Pairs along the axes whose role changes. A target's source has, dimension by dimension, the
  // same block index; among the holders of that block, the one with the same index along the axes
  // that do not matter to it.
  ValueId permute(ValueId value, const Placement& from, const Placement& to) {
    AtomList involved;
    const AtomMask mask = from.mask() | to.mask();
    for (size_t a = 0; a < atoms_.size(); ++a) {
      if (mask >> a & 1) involved.push_back(static_cast<Atom>(a));
    }
    const auto outside = [&](const Placement& placement) {
      AtomList rest;
      const AtomMask used = placement.mask();
      for (Atom atom : involved) {
        if ((used >> atom & 1) == 0) rest.push_back(atom);
      }
      return rest;
    };
    std::vector<std::pair<AtomList, AtomList>> matches;  // (axes of the source, of the target)
    for (size_t d = 0; d < from.dims.size(); ++d) matches.push_back({from.dims[d], to.dims[d]});
    matches.push_back({from.partial, to.partial});
    matches.push_back({outside(from), outside(to)});
    CollectivePermuteAttrs attrs{atoms_.to_axes(involved), {}};
    const int64_t count = atoms_.extent(involved);
    for (int64_t target = 0; target < count; ++target) {
      std::vector<int64_t> source_digits(involved.size(), 0);
      for (const auto& [source_axes, target_axes] : matches) {
        spread(index_of_axes(target, involved, target_axes), source_axes, involved, source_digits);
      }
      attrs.source_target_pairs.emplace_back(join(source_digits, involved), target);
    }
    return b_.value(OpCode::kCollectivePermute, {value}, std::move(attrs));
  }

  size_t position(const AtomList& involved, Atom atom) const {
    return static_cast<size_t>(std::find(involved.begin(), involved.end(), atom) -
                               involved.begin());
  }

  // Index along `axes` of the device with index `device` along `involved`.
  int64_t index_of_axes(int64_t device, const AtomList& involved, const AtomList& axes) const {
    std::vector<int64_t> digits(involved.size());
    for (size_t i = involved.size(); i-- > 0;) {
      digits[i] = device % atoms_.extent(involved[i]);
      device /= atoms_.extent(involved[i]);
    }
    int64_t index = 0;
    for (Atom atom : axes) index = index * atoms_.extent(atom) + digits[position(involved, atom)];
    return index;
  }

  void spread(int64_t index, const AtomList& axes, const AtomList& involved,
              std::vector<int64_t>& digits) const {
    for (size_t i = axes.size(); i-- > 0;) {
      digits[position(involved, axes[i])] = index % atoms_.extent(axes[i]);
      index /= atoms_.extent(axes[i]);
    }
  }

  int64_t join(const std::vector<int64_t>& digits, const AtomList& involved) const {
    int64_t index = 0;
    for (size_t i = 0; i < involved.size(); ++i) {
      index = index * atoms_.extent(involved[i]) + digits[i];
    }
    return index;
  }

  ValueId emit(ValueId value, const ReshardStep& step, const Placement& state,
               const Placement& next) {
    const int64_t parts = axes_size(step.axes, atoms_.mesh());
    const AxisList axes = from_atoms(step.axes, atoms_.mesh());
    const CollectiveGroups groups{axes, {}};
    switch (step.kind) {
      case ReshardStep::Kind::kAllGather:
        return collective(OpCode::kAllGather, value, scaled(type(value), step.dim, parts, 1),
                          AllGatherAttrs{step.dim, groups});
      case ReshardStep::Kind::kSlice:
        return slice(value, step.dim, axes);
      case ReshardStep::Kind::kAllToAll:
        return collective(OpCode::kAllToAll, value,
                          scaled(scaled(type(value), step.dim, parts, 1), step.to_dim, 1, parts),
                          AllToAllAttrs{step.to_dim, step.dim, groups});
      case ReshardStep::Kind::kPermute:
        return permute(value, state, next);
      case ReshardStep::Kind::kAllReduce:
        return reducing(OpCode::kAllReduce, value, type(value), AllReduceAttrs{groups},
                        state.reduction);
      case ReshardStep::Kind::kReduceScatter:
        return reducing(OpCode::kReduceScatter, value, scaled(type(value), step.dim, 1, parts),
                        ReduceScatterAttrs{step.dim, groups}, state.reduction);
      case ReshardStep::Kind::kMakePartial:
        return make_partial(value, axes, next.reduction);
    }
    SPMD_UNREACHABLE("unknown reshard step");
  }

  Builder& b_;
  const AtomTable& atoms_;
};

}  // namespace

ValueId lower_reshard(Builder& builder, ValueId value, const Placement& from,
                      const ReshardPlan& plan, const AtomTable& atoms) {
  return ReshardLowering(builder, atoms).lower(value, from, plan);
}

}  // namespace spmd
