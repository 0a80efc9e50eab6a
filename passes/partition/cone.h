// Cones: all of what lies between an exchange and a value, as one thing to compute anew elsewhere.
//
// RecomputePlanner decides value by value, and pays twice for what two of them share. Where an op
// exchanges rows although, some ops later, every device needs everything, only the whole way shows
// that gathering first costs less: what the cone reads is paid for once, and what it leaves without
// users is spared.
#pragma once

#include "passes/partition/recompute.h"

namespace spmd {

// Ops to compute anew, operands first, each with its result placed as the ops after it need it.
struct Cone {
  struct Node {
    OpId op;
    FactorRule rule;
    FactorAssignment assignment;
    Placement placement;
  };
  std::vector<Node> nodes;
  double seconds = 0;  // of what it reads and computes, less what it spares
};

class ConePlanner {
 public:
  ConePlanner(const Function& fn, const AtomTable& atoms, ReshardCosts& costs,
              const CostModel& cost, RecomputePlanner& recompute,
              std::function<Placement(ValueId)> placement)
      : fn_(fn),
        atoms_(atoms),
        costs_(costs),
        cost_(cost),
        recompute_(recompute),
        placement_(std::move(placement)) {}

  // Whether the op, as it is placed, exchanges rows.
  bool exchanges(OpId op) const;

  // The cone from the nearest exchanges to the operand of `reshard`, in the reshard's placement.
  // Its result takes the operand's place for all users. nullopt where there is no exchange nearby,
  // within the block, where the ops between do not agree, or where other users would have to
  // communicate.
  std::optional<Cone> plan(OpId reshard);

  // The value itself, or what a chain of reshards that end in it starts with.
  ValueId source(ValueId value) const;

 private:
  struct Visit {
    Placement target;
    bool collected;  // its op is a node
  };
  bool collect(ValueId value, const Placement& target, int depth);
  bool is_node(ValueId value) const;
  double reading(const Cone& cone) const;
  double sparing(const Cone& cone) const;
  FactorAssignment assignment_now(const Op& op, const FactorRule& rule) const;
  double exchange_seconds_now(const Op& op, const FactorRule& rule) const;

  const Function& fn_;
  const AtomTable& atoms_;
  ReshardCosts& costs_;
  const CostModel& cost_;
  RecomputePlanner& recompute_;
  std::function<Placement(ValueId)> placement_;
  BlockId block_ = BlockId::kNone;
  std::unordered_map<ValueId, Visit> visits_;
  Cone cone_;
  bool agrees_ = true;
};

}  // namespace spmd
