#include "passes/insert_reshards.h"

#include <algorithm>

#include "ir/builder.h"
#include "passes/partition/assignment.h"
#include "passes/partition/op_cost.h"
#include "passes/partition/recompute.h"
#include "passes/partition/reshard_costs.h"
#include "sharding/propagation/propagation.h"
#include "support/error.h"

namespace spmd {
namespace {

class ReshardInserter {
 public:
  ReshardInserter(Module& module, PassContext& context)
      : module_(module),
        fn_(module.main()),
        context_(context),
        atoms_(module.mesh),
        costs_(atoms_, context.options.cost),
        recompute_(
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
  void remark_gathered(OpId id, const FactorRule& rule);
  void visit_while(OpId id);
  void visit_branches(OpId id);
  void visit_barrier(OpId id);
  void visit_constraint(OpId id);
  void drop_uneven_axes(const TensorType& type, AtomMask manual, Sharding& sharding);
  void visit_manual(OpId id);
  void visit_opaque(OpId id);

  FactorAssignment choose(OpId id, const FactorRule& rule);
  double cost_of(OpId id, const FactorRule& rule, const FactorAssignment& assignment);
  Placement needed(const FactorRule& rule, size_t operand, const FactorAssignment& assignment);
  Placement produced(const FactorRule& rule, size_t result, const FactorAssignment& assignment);
  const Version* find_version(ValueId value, const Placement& target) const;
  void require(OpId id, size_t operand, const Placement& target);
  void deliver(OpId id, size_t result, Placement natural);
  ValueId reshard(Builder& builder, ValueId value, const Placement& target);
  bool encloses(BlockId outer, BlockId inner) const;

  Module& module_;
  Function& fn_;
  PassContext& context_;
  AtomTable atoms_;
  ReshardCosts costs_;
  RecomputePlanner recompute_;
  std::vector<Placement> placements_;
  std::unordered_map<ValueId, std::vector<Version>> versions_;
  bool changed_ = false;
};

void ReshardInserter::read_placements() {
  placements_.resize(fn_.num_value_ids());
  for (size_t i = 0; i < placements_.size(); ++i) {
    const Value& value = fn_.value(static_cast<ValueId>(i));
    placements_[i] = value.sharding ? to_placement(*value.sharding, atoms_)
                                    : Placement::replicated(value.type.rank());
    if (is_free_source(fn_, static_cast<ValueId>(i))) {
      placements_[i] = Placement::replicated(value.type.rank());
    }
  }
}

void ReshardInserter::set_placement(ValueId value, Placement placement) {
  fn_.value(value).sharding = std::make_shared<const Sharding>(to_sharding(placement, atoms_));
  if (placements_.size() <= index_of(value)) placements_.resize(index_of(value) + 1);
  placements_[index_of(value)] = std::move(placement);
}

bool ReshardInserter::encloses(BlockId outer, BlockId inner) const {
  while (inner != outer) {
    const OpId parent = fn_.block(inner).parent;
    if (parent == OpId::kNone) return false;
    inner = fn_.op(parent).block;
  }
  return true;
}

void ReshardInserter::visit_block(BlockId block) {
  for_each_op(fn_, block, [&](OpId id) { visit(id); });
}

void ReshardInserter::visit(OpId id) {
  const Op& op = fn_.op(id);
  if (std::optional<FactorRule> rule = factor_rule(fn_, id)) {
    visit_with_rule(id, *rule);
    return;
  }
  switch (op.code) {
    case OpCode::kReturn:
      if (fn_.block(op.block).parent != OpId::kNone) return;  // the parent op sees to it
      for (size_t i = 0; i < op.operands.size(); ++i) {
        require(id, i, to_placement(*fn_.result_info[i].sharding, atoms_));
      }
      return;
    case OpCode::kWhile:
      return visit_while(id);
    case OpCode::kIf:
    case OpCode::kCase:
      return visit_branches(id);
    case OpCode::kOptimizationBarrier:
      return visit_barrier(id);
    case OpCode::kPropagationBarrier:
    case OpCode::kShardingConstraint:
    case OpCode::kReshard:
      return visit_constraint(id);
    case OpCode::kShardingGroup:  // has done its work
      fn_.erase_op(id);
      changed_ = true;
      return;
    case OpCode::kManualComputation:
      return visit_manual(id);
    default:
      return visit_opaque(id);
  }
}

// ---- choosing

Placement ReshardInserter::needed(const FactorRule& rule, size_t operand,
                                  const FactorAssignment& assignment) {
  Placement target = place(rule, rule.operands[operand], assignment, atoms_);
  const auto& once = rule.once_operands;
  if (std::find(once.begin(), once.end(), static_cast<int>(operand)) != once.end()) {
    target.partial = partial_axes(rule, assignment);
    target.reduction = rule.reduction;
  }
  return target;
}

Placement ReshardInserter::produced(const FactorRule& rule, size_t result,
                                    const FactorAssignment& assignment) {
  Placement natural = place(rule, rule.results[result], assignment, atoms_);
  natural.partial = partial_axes(rule, assignment);
  natural.reduction = rule.reduction;
  return natural;
}

double ReshardInserter::cost_of(OpId id, const FactorRule& rule,
                                const FactorAssignment& assignment) {
  const Op& op = fn_.op(id);
  double seconds = 0;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const ValueId operand = op.operands[i];
    if (is_free_source(fn_, operand)) continue;
    seconds += recompute_.best(operand, needed(rule, i, assignment), op.block).seconds;
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (is_free_source(fn_, op.results[i])) continue;
    seconds += costs_.seconds(fn_.type(op.results[i]), produced(rule, i, assignment),
                              placement(op.results[i]));
  }
  return seconds + op_seconds(fn_, op, rule, assignment, atoms_, context_.options.cost);
}

FactorAssignment ReshardInserter::choose(OpId id, const FactorRule& rule) {
  const Op& op = fn_.op(id);
  struct Source {
    FactorAssignment axes;
    int64_t bytes;
  };
  std::vector<Source> sources;
  const auto add_source = [&](const TensorFactors& tensor, ValueId value) {
    if (placement(value).is_replicated()) return;
    FactorAssignment axes = project(rule, tensor, placement(value), atoms_);
    if (axes.mask() != 0) sources.push_back({std::move(axes), fn_.type(value).num_bytes()});
  };
  for (size_t i = 0; i < op.results.size(); ++i) add_source(rule.results[i], op.results[i]);
  for (size_t i = 0; i < op.operands.size(); ++i) add_source(rule.operands[i], op.operands[i]);
  std::stable_sort(sources.begin(), sources.end(),
                   [](const Source& a, const Source& b) { return a.bytes > b.bytes; });

  std::vector<FactorAssignment> candidates;
  const auto add_candidate = [&](FactorAssignment candidate) {
    if (std::find(candidates.begin(), candidates.end(), candidate) == candidates.end()) {
      candidates.push_back(std::move(candidate));
    }
  };
  for (const Source& first : sources) {
    FactorAssignment candidate = first.axes;
    for (const Source& other : sources) merge(rule, candidate, other.axes);
    normalise(rule, candidate, atoms_);
    add_candidate(std::move(candidate));
  }
  if (candidates.empty()) return {std::vector<AtomList>(rule.factors.size())};
  // Where a result would be partial, every device may as well do all of it on gathered operands;
  // not where that multiplies much work, nor in a loop, out of which a reduction may move.
  const bool cheap = op.code != OpCode::kDotGeneral && op.code != OpCode::kConvolution;
  if (cheap && op.block == fn_.body() && !partial_axes(rule, candidates[0]).empty()) {
    add_candidate({std::vector<AtomList>(rule.factors.size())});
  }
  if (candidates.size() == 1) return candidates[0];
  recompute_.clear();
  size_t best = 0;
  double best_cost = cost_of(id, rule, candidates[0]);
  for (size_t i = 1; i < candidates.size(); ++i) {
    const double cost = cost_of(id, rule, candidates[i]);
    if (cost < best_cost) {
      best_cost = cost;
      best = i;
    }
  }
  return candidates[best];
}

// ---- rewriting

const ReshardInserter::Version* ReshardInserter::find_version(ValueId value,
                                                              const Placement& target) const {
  const auto found = versions_.find(value);
  if (found == versions_.end()) return nullptr;
  for (const Version& version : found->second) {
    if (version.placement == target) return &version;
  }
  return nullptr;
}

ValueId ReshardInserter::reshard(Builder& builder, ValueId value, const Placement& target) {
  const ValueId result =
      builder.value(OpCode::kReshard, {value}, ReshardAttrs{to_sharding(target, atoms_)});
  set_placement(result, target);
  changed_ = true;
  return result;
}

void ReshardInserter::require(OpId id, size_t operand, const Placement& target) {
  const ValueId value = fn_.op(id).operands[operand];
  if (placement(value) == target) return;
  std::vector<Version>& versions = versions_[value];
  const BlockId here = fn_.op(id).block;
  for (const Version& version : versions) {
    if (version.placement == target && encloses(version.block, here)) {
      fn_.set_operand(id, operand, version.value);
      return;
    }
  }
  Builder builder = Builder::before(fn_, id);
  builder.location = fn_.op(id).location;
  const ValueId version = reshard(builder, value, target);
  versions_[value].push_back({target, version, here});
  fn_.set_operand(id, operand, version);
}

// The result comes as `natural`; its users were promised placement(result).
void ReshardInserter::deliver(OpId id, size_t result, Placement natural) {
  const ValueId value = fn_.op(id).results[result];
  const Placement promised = placement(value);
  set_placement(value, natural);
  if (natural == promised || fn_.value(value).uses.empty()) return;
  Builder builder = Builder::after(fn_, id);
  builder.location = fn_.op(id).location;
  const std::vector<Use> uses = fn_.value(value).uses;
  const ValueId version = reshard(builder, value, promised);
  for (const Use& use : uses) fn_.set_operand(use.op, use.operand, version);
}

// Says that an op of linear algebra gathers what it cannot cut.
void ReshardInserter::remark_gathered(OpId id, const FactorRule& rule) {
  const Op& op = fn_.op(id);
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Placement& now = placement(op.operands[i]);
    for (size_t d = 0; d < now.dims.size(); ++d) {
      const DimFactors& factors = rule.operands[i].dims[d];
      const bool whole =
          !factors.empty() && rule.factors[static_cast<size_t>(factors[0])].kind ==
                                  FactorKind::kNeedReplication;
      if (!whole || now.dims[d].empty()) continue;
      context_.remark("insert_reshards", op,
                      fmt::format("{} needs dimension {} of {} whole: it is gathered from {}",
                                  name_of(op.code), d, to_string(fn_.type(op.operands[i])),
                                  to_string(now, atoms_)));
    }
  }
}

void ReshardInserter::visit_with_rule(OpId id, const FactorRule& rule) {
  if (family_of(fn_.op(id).code) == OpFamily::kLinalg) remark_gathered(id, rule);
  const FactorAssignment assignment = choose(id, rule);
  for (size_t i = 0; i < fn_.op(id).operands.size(); ++i) {
    require(id, i, needed(rule, i, assignment));
  }
  for (size_t i = 0; i < fn_.op(id).results.size(); ++i) {
    if (is_free_source(fn_, fn_.op(id).results[i])) {
      set_placement(fn_.op(id).results[i],
                    Placement::replicated(fn_.type(fn_.op(id).results[i]).rank()));
      continue;
    }
    deliver(id, i, produced(rule, i, assignment));
  }
}

void ReshardInserter::visit_while(OpId id) {
  const std::vector<BlockId> regions = fn_.op(id).regions;
  const BlockId condition = regions[0], body = regions[1];
  const std::vector<ValueId> args = fn_.block(body).args;
  for (size_t i = 0; i < args.size(); ++i) {
    const Placement carried = placement(args[i]);
    require(id, i, carried);
    set_placement(args[i], carried);
    set_placement(fn_.block(condition).args[i], carried);
    deliver(id, i, carried);
  }
  visit_block(condition);
  require(fn_.terminator(condition), 0, Placement::replicated(0));
  visit_block(body);
  for (size_t i = 0; i < args.size(); ++i) {
    require(fn_.terminator(body), i, placement(args[i]));
  }
}

void ReshardInserter::visit_branches(OpId id) {
  require(id, 0, Placement::replicated(fn_.type(fn_.op(id).operands[0]).rank()));
  const std::vector<BlockId> regions = fn_.op(id).regions;
  const std::vector<ValueId> results = fn_.op(id).results;
  for (BlockId region : regions) {
    visit_block(region);
    for (size_t i = 0; i < results.size(); ++i) {
      require(fn_.terminator(region), i, placement(results[i]));
    }
  }
  for (ValueId result : results) set_placement(result, Placement(placement(result)));
}

void ReshardInserter::visit_barrier(OpId id) {
  for (size_t i = 0; i < fn_.op(id).results.size(); ++i) {
    const Placement target = placement(fn_.op(id).results[i]);
    require(id, i, target);
    set_placement(fn_.op(id).results[i], target);
  }
}

void ReshardInserter::visit_constraint(OpId id) {
  const Placement target = placement(fn_.op(id).results[0]);
  require(id, 0, target);
  fn_.replace_all_uses(fn_.op(id).results[0], fn_.op(id).operands[0]);
  fn_.erase_op(id);
  changed_ = true;
}

// A manual computation has the sizes that the program says. Axes that are not its own only place
// its operands and results, and do so where they divide.
void ReshardInserter::drop_uneven_axes(const TensorType& type, const AtomMask manual,
                                       Sharding& sharding) {
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    AtomList axes = atoms_.to_atoms(sharding.dims[d].axes);
    while (!axes.empty() && type.shape[d] % atoms_.extent(axes) != 0 &&
           (manual >> axes.back() & 1) == 0) {
      axes.pop_back();
    }
    sharding.dims[d].axes = atoms_.to_axes(axes);
  }
}

void ReshardInserter::visit_manual(OpId id) {
  {
    auto& shardings = fn_.op(id).as<ManualComputationAttrs>();
    const AtomMask manual = mask_of(atoms_.to_atoms(shardings.manual_axes));
    for (size_t i = 0; i < shardings.in_shardings.size(); ++i) {
      drop_uneven_axes(fn_.type(fn_.op(id).operands[i]), manual, shardings.in_shardings[i]);
    }
    for (size_t i = 0; i < shardings.out_shardings.size(); ++i) {
      drop_uneven_axes(fn_.type(fn_.op(id).results[i]), manual, shardings.out_shardings[i]);
    }
  }
  const ManualComputationAttrs attrs = fn_.op(id).as<ManualComputationAttrs>();
  for (size_t i = 0; i < attrs.in_shardings.size(); ++i) {
    require(id, i, to_placement(attrs.in_shardings[i], atoms_));
  }
  const BlockId region = fn_.op(id).regions[0];
  const AtomMask manual = mask_of(atoms_.to_atoms(attrs.manual_axes));
  const auto without_manual = [&](const Sharding& sharding) {
    Placement inside = to_placement(sharding, atoms_);
    for (AtomList& dim : inside.dims) {
      std::erase_if(dim, [&](Atom atom) { return manual >> atom & 1; });
    }
    return inside;
  };
  for (size_t i = 0; i < attrs.in_shardings.size(); ++i) {
    set_placement(fn_.block(region).args[i], without_manual(attrs.in_shardings[i]));
  }
  visit_block(region);
  for (size_t i = 0; i < attrs.out_shardings.size(); ++i) {
    require(fn_.terminator(region), i, without_manual(attrs.out_shardings[i]));
  }
  for (size_t i = 0; i < attrs.out_shardings.size(); ++i) {
    deliver(id, i, to_placement(attrs.out_shardings[i], atoms_));
  }
}

// Ops without a rule see whole values.
void ReshardInserter::visit_opaque(OpId id) {
  for (size_t i = 0; i < fn_.op(id).operands.size(); ++i) {
    require(id, i, Placement::replicated(fn_.type(fn_.op(id).operands[i]).rank()));
  }
  for (size_t i = 0; i < fn_.op(id).results.size(); ++i) {
    deliver(id, i, Placement::replicated(fn_.type(fn_.op(id).results[i]).rank()));
  }
  const Op& op = fn_.op(id);
  if (family_of(op.code) != OpFamily::kCollective && module_.mesh.num_devices() > 1) {
    context_.remark(
        "insert_reshards", op,
        fmt::format("{} cannot be partitioned: every device runs all of it", name_of(op.code)));
  }
}

}  // namespace

Pass insert_reshards_pass() {
  return {"insert_reshards", "place operands as their ops need them",
          [](Module& module, PassContext& context) {
            if (module.mesh.num_axes() == 0) return false;
            return ReshardInserter(module, context).run();
          }};
}

}  // namespace spmd
