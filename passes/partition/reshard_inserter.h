// ReshardInserter: chooses a placement for each op and inserts the reshards that it needs.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "passes/partition/placement_choice.h"
#include "passes/pass.h"
#include "sharding/sharding_pool.h"

namespace spmd {

class ReshardInserter {
 public:
  ReshardInserter(Module& module, PassContext& context)
      : module_(module),
        fn_(module.main()),
        context_(context),
        atoms_(module.mesh),
        costs_(atoms_, context.options.cost),
        choice_(
            fn_, atoms_, costs_, context.options.cost,
            [this](ValueId value) { return placement(value); },
            [this](ValueId value, const Placement& target) {
              return find_version(value, target) != nullptr;
            }) {}

  bool run() {
    read_placements();
    visit_block(fn_.body());
    return changed_;
  }

 private:
  // A value in another placement, made in some block.
  struct Version {
    Placement placement;
    ValueId value;
    BlockId block;
  };

  void read_placements();
  const Placement& placement(ValueId value) { return placements_[index_of(value)]; }
  void set_placement(ValueId value, Placement placement);
  void visit_block(BlockId block);
  void visit(OpId id);
  void visit_with_rule(OpId id, const FactorRule& rule);
  void visit_while(OpId id);
  void visit_branches(OpId id);
  void visit_barrier(OpId id);
  void visit_constraint(OpId id);
  void drop_uneven_axes(const TensorType& type, AtomMask manual, Sharding& sharding);
  void visit_manual(OpId id);
  void visit_opaque(OpId id);

  bool becomes_dynamic(OpId id, const FactorRule& rule, const FactorAssignment& assignment);
  bool feeds_joins(const Op& op);
  void cut_behind_gather(OpId id, const FactorRule& rule, const FactorAssignment& assignment);
  void report_gathers(const Op& op, const FactorRule& rule, const FactorAssignment& assignment);
  const Version* find_version(ValueId value, const Placement& target) const;
  void require(OpId id, size_t operand, Placement target);
  void deliver(OpId id, size_t result, Placement natural);
  ValueId reshard(Builder& builder, ValueId value, const Placement& target);
  bool encloses(BlockId outer, BlockId inner) const;

  Module& module_;
  Function& fn_;
  PassContext& context_;
  AtomTable atoms_;
  ShardingPool shardings_{atoms_};
  ReshardCosts costs_;
  PlacementChoice choice_;
  std::vector<Placement> placements_;
  std::unordered_map<ValueId, std::vector<Version>> versions_;
  bool changed_ = false;
};

}  // namespace spmd
