// UnevenPadder: rebuilds main with the dimensions padded that their shards do not divide.
#pragma once

#include <vector>

#include "passes/partition/dimension_classes.h"
#include "passes/partition/rebuilder.h"
#include "passes/pass.h"
#include "sharding/sharding_pool.h"

namespace spmd {

class UnevenPadder : public Rebuilder {
 public:
  UnevenPadder(Module& module, PassContext& context)
      : Rebuilder(module.main()),
        module_(module),
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
  void require_divisible(const Op& op, const TensorFactors& tensor, const FactorRule& rule,
                         const Dims& shape, const Placement& placement) const;
  void require_divisible(const Op& op, ValueId value) const;
  void mask_operands(const Op& op, const FactorRule& rule, const std::vector<int64_t>& sizes,
                     std::vector<ValueId>& operands, Builder& builder);
  ValueId mask(ValueId value, const Placement& placement, int64_t dim, int64_t true_size,
               const Literal& filler, Builder& builder);
  ValueId clamp_indices(const Op& op, ValueId indices, Builder& builder);
  void clamp_starts(const Op& op, const std::vector<int64_t>& sizes, const FactorRule& rule,
                    std::vector<ValueId>& operands, Builder& builder);

  ValueId placed(ValueId value, const Placement& placement) {
    to_.value(value).sharding = shardings_.of(placement);
    return value;
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
  AtomTable atoms_;
  ShardingPool shardings_{atoms_};
  ReshardCosts costs_;
  std::vector<Placement> placements_;
  DimensionClasses classes_;
};

}  // namespace spmd
