#include "passes/localize.h"

#include <algorithm>

#include "passes/partition/exchanged_op.h"
#include "passes/partition/lower_reshard.h"
#include "passes/partition/rebuilder.h"
#include "sharding/propagation/propagation.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd {
namespace {

class Localizer : public Rebuilder {
 public:
  Localizer(Module& module, PassContext& context)
      : Rebuilder(module.main()),
        module_(module),
        context_(context),
        atoms_(module.mesh),
        costs_(atoms_, context.options.cost) {}

  void run() {
    rebuild_function();
    for (size_t i = 0; i < from_.arguments().size(); ++i) {
      to_.argument_info[i].global_shape =
          unpadded(from_.argument_info[i].global_shape, from_.type(from_.arguments()[i]).shape);
    }
    for (size_t i = 0; i < from_.results().size(); ++i) {
      to_.result_info[i].global_shape =
          unpadded(from_.result_info[i].global_shape, from_.type(from_.results()[i]).shape);
    }
    module_.main() = std::move(to_);
  }

 private:
  static Dims unpadded(const std::optional<Dims>& recorded, const Dims& shape) {
    return recorded ? *recorded : shape;
  }

  Placement placement(ValueId value) const {
    const Value& v = from_.value(value);
    return v.sharding ? to_placement(*v.sharding, atoms_) : Placement::replicated(v.type.rank());
  }

  // Rows of each rank's block. Of a dimension that its shards do not divide (of an exchanged op,
  // between a slice to its true size and a pad from it) as many as the padded size gives.
  int64_t block(ValueId value, size_t dim, const AtomList& axes) const;

  TensorType new_type(ValueId value) const override {
    TensorType local = from_.type(value);
    const Placement place = placement(value);
    for (size_t d = 0; d < local.shape.size(); ++d) local.shape[d] = block(value, d, place.dims[d]);
    return local;
  }
  ShardingRef new_sharding(ValueId) const override { return nullptr; }

  void copy(OpId id, Builder& builder) override;
  void copy_reshard(const Op& op, Builder& builder);
  void copy_with_regions(const Op& op, Builder& builder);
  void copy_manual(const Op& op, Builder& builder);
  ValueId partition_id(Builder& builder);
  void copy_with_rule(OpId id, const FactorRule& rule, Builder& builder);
  ValueId rebuild_source(const Op& source, const TensorType& local, const Placement& target,
                         Builder& builder);

  Module& module_;
  PassContext& context_;
  AtomTable atoms_;
  ReshardCosts costs_;
};

int64_t Localizer::block(ValueId value, size_t dim, const AtomList& axes) const {
  const int64_t size = from_.type(value).shape[dim];
  const int64_t shards = atoms_.extent(axes);
  if (size % shards == 0) return size / shards;
  // All results of an op have the same blocks.
  const Op* def = from_.def(value);
  for (ValueId result : def != nullptr ? def->results : ValueIds{value}) {
    for (const Use& use : from_.value(result).uses) {
      const Op& user = from_.op(use.op);
      if (user.code != OpCode::kPad || use.operand != 0) continue;
      const int64_t padded = from_.type(user.results[0]).shape[dim];
      if (padded > size && padded % shards == 0 && placement(user.results[0]).dims[dim] == axes) {
        return padded / shards;
      }
    }
  }
  return (size + shards - 1) / shards;
}

void Localizer::copy(OpId id, Builder& builder) {
  const Op& op = from_.op(id);
  switch (op.code) {
    case OpCode::kReshard:
      return copy_reshard(op, builder);
    case OpCode::kManualComputation:
      return copy_manual(op, builder);
    case OpCode::kReturn:
      builder.return_op(mapped(op.operands));
      return;
    case OpCode::kPartitionId:
      map_[op.results[0]] = partition_id(builder);
      return;
    default:
      break;
  }
  if (std::optional<FactorRule> rule = factor_rule(from_, id)) {
    copy_with_rule(id, *rule, builder);
  } else {
    copy_with_regions(op, builder);
  }
}

// The number of this rank's device: its position in the mesh, where devices are in order.
ValueId Localizer::partition_id(Builder& builder) {
  const Mesh& mesh = module_.mesh;
  AxisList all;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) all.push_back({axis, 1, 0});
  const ValueId position = builder.value(OpCode::kAxisIndex, {}, AxisIndexAttrs{all});
  if (mesh.device_ids().empty()) return builder.convert(position, DType::kU32);
  const std::vector<uint32_t> devices(mesh.device_ids().begin(), mesh.device_ids().end());
  const ValueId table =
      builder.constant(Literal::of(TensorType{DType::kU32, {mesh.num_devices()}}, devices));
  const ValueId device =
      builder.value(OpCode::kDynamicSlice, {table, position}, DynamicSliceAttrs{{1}});
  return builder.reshape(device, {});
}

// Up to here a floating-point type holds every whole number.
int64_t largest_count(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kC128:
      return int64_t{1} << 53;
    case DType::kF32:
    case DType::kC64:
      return 1 << 24;
    default:
      return 0;
  }
}

// A reshard of a value that any placement can make for nothing makes it in place.
ValueId Localizer::rebuild_source(const Op& source, const TensorType& local,
                                  const Placement& target, Builder& builder) {
  const ValueId made = made_anew(source, local, builder);
  if (source.code != OpCode::kIota) return made;
  const int64_t dim = source.as<IotaAttrs>().dim;
  const AtomList& axes = target.dims[static_cast<size_t>(dim)];
  if (axes.empty()) return made;
  // Counted in a type that holds every count, so that each is rounded, or wraps, once.
  const bool holds_counts =
      is_integer(local.dtype) ? bit_width(local.dtype) >= 32
                              : local.dim(dim) * atoms_.extent(axes) <= largest_count(local.dtype);
  const TensorType counts = holds_counts ? local : local.with_dtype(DType::kS64);
  const ValueId start = builder.broadcast(
      axis_offset(builder, axes, atoms_, counts.dtype, local.dim(dim)), local.shape, {});
  const ValueId count = holds_counts ? made : builder.iota(counts, dim);
  return builder.convert(builder.binary(OpCode::kAdd, count, start), local.dtype);
}

void Localizer::copy_reshard(const Op& op, Builder& builder) {
  const ValueId operand = op.operands[0];
  const Placement from = placement(operand);
  const Placement to = placement(op.results[0]);
  ValueId value = map_.at(operand);
  Placement state = from;
  if (is_free_source(from_, operand) && from.is_replicated()) {
    Placement whole = to;
    whole.partial.clear();
    const ValueId rebuilt =
        rebuild_source(*from_.def(operand), new_type(op.results[0]), whole, builder);
    if (rebuilt != ValueId::kNone) {
      value = rebuilt;
      state = whole;
    }
  }
  if (!(state == to)) {
    const AtomMask manual = manual_axes_around(from_, op.block, atoms_);
    const ReshardPlan& plan = costs_.plan(from_.type(operand), state, to, manual);
    if (plan.full_rematerialization) {
      ++context_.full_rematerializations;
      context_.remark(
          "localize", op,
          fmt::format("full rematerialisation of {}: from {} to {}, {} sent per rank; annotate "
                      "the value with the second sharding to avoid it",
                      to_string(from_.type(operand)), to_string(from, atoms_),
                      to_string(to, atoms_), human_bytes(static_cast<double>(plan.bytes_sent))));
    }
    value = lower_reshard(builder, value, state, plan, atoms_);
  }
  map_[op.results[0]] = value;
}

void Localizer::copy_manual(const Op& op, Builder& builder) {
  const BlockId region = op.regions[0];
  for (size_t i = 0; i < op.operands.size(); ++i) {
    map_[from_.block(region).args[i]] = map_.at(op.operands[i]);
  }
  const OpId last = from_.terminator(region);
  for (OpId id = from_.block(region).first; id != last; id = from_.op(id).next) {
    builder.location = from_.op(id).location;
    copy(id, builder);
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    map_[op.results[i]] = map_.at(from_.op(last).operands[i]);
  }
}

// Control flow and collectives of manual code: the same op on local types.
void Localizer::copy_with_regions(const Op& op, Builder& builder) {
  std::vector<TensorType> types;
  for (ValueId result : op.results) types.push_back(new_type(result));
  const OpId created = builder.create(op.code, mapped(op.operands), std::move(types), op.attrs);
  const bool scalar_region = family_of(op.code) == OpFamily::kCollective;
  for (BlockId source : op.regions) {
    const BlockId region = to_.add_region(created);
    if (scalar_region) {
      copy_verbatim(source, region);
    } else {
      copy_region(source, region);
    }
  }
  map_results(op, created);
}

void Localizer::copy_with_rule(OpId id, const FactorRule& rule, Builder& builder) {
  const Op& op = from_.op(id);
  std::vector<Placement> operands, results;
  for (ValueId operand : op.operands) operands.push_back(placement(operand));
  for (ValueId result : op.results) results.push_back(placement(result));
  const FactorAssignment assignment = assignment_of(rule, operands, results, atoms_);
  std::vector<TensorType> types;
  for (ValueId result : op.results) types.push_back(new_type(result));
  LocalOp local{
      from_,   op, rule, assignment, atoms_, builder, mapped(op.operands), std::move(types),
      op.attrs};
  const ExchangeSite site{
      from_,
      atoms_,
      [this](ValueId value) { return placement(value); },
      [this](ValueId value, int64_t dim) {
        const auto d = static_cast<size_t>(dim);
        return block(value, d, placement(value).dims[d]);
      },
      [this](ValueId value) { return map_.at(value); },
      [this](BlockId source, BlockId region) { copy_verbatim(source, region); }};
  const std::vector<ExchangedFactor> exchanged = exchanged_factors(site, op, rule, assignment);
  const LocalResult created =
      exchanged.empty() ? create_local(local) : create_exchanged(local, site, exchanged);
  for (BlockId source : op.regions) {
    if (created.created == OpId::kNone) break;
    copy_verbatim(source, to_.add_region(created.created));
  }
  for (size_t i = 0; i < op.results.size(); ++i) map_[op.results[i]] = created.values[i];
}

}  // namespace

Pass localize_pass() {
  return {"localize", "global to per-rank shapes, reshards to collectives",
          [](Module& module, PassContext& context) {
            if (module.mesh.num_axes() == 0) return false;
            Localizer(module, context).run();
            return true;
          }};
}

}  // namespace spmd
