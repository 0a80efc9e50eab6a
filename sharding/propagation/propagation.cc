#include "sharding/propagation/propagation.h"

#include <algorithm>
#include <map>

#include "ir/describe.h"
#include "sharding/propagation/factor_axes.h"
#include "sharding/propagation/origins.h"
#include "support/error.h"

namespace spmd {

bool is_free_source(const Function& fn, ValueId value) {
  const Op* op = fn.def(value);
  if (op == nullptr) return false;
  return op->code == OpCode::kConstant || op->code == OpCode::kIota ||
         (op->code == OpCode::kBroadcastInDim && fn.type(op->operands[0]).rank() == 0);
}

namespace {

struct DimState {
  AtomList axes;
  bool open = true;
  int level = 0;  // priority from which the axes may spread
};

struct ValueState {
  std::vector<DimState> dims;
  AtomMask used = 0;  // axes of the dims, and axes that must not be used
  int64_t elements = 1;
};

// Tensors that share factors: an op, or one carried value of a loop.
struct Node {
  std::vector<Factor> factors;
  std::vector<int> order;  // factors, those of the largest tensors first
  struct Tensor {
    uint32_t state;
    std::vector<DimFactors> dims;
  };
  std::vector<Tensor> tensors;
  bool pass_through = false;  // an elementwise or shape op
  int only_source = -1;       // the only tensor whose axes spread, or -1
  OpId op = OpId::kNone;      // none: main's results
};

bool is_whole(const ValueState& state) {
  return std::all_of(state.dims.begin(), state.dims.end(),
                     [](const DimState& dim) { return dim.axes.empty(); });
}

class Propagation {
 public:
  explicit Propagation(Module& module)
      : module_(module), fn_(module.main()), atoms_(module.mesh), origins_(fn_) {}

  void run() {
    collect_states();
    collect_nodes();
    for (int level : levels_) {
      level_ = level;
      for (const bool all_ops : {false, true}) {
        for (const bool reductions : {false, true}) {
          if (reductions && !all_ops) continue;
          sweep(all_ops, reductions);
        }
      }
    }
    write_back();
  }

  ShardingOrigins origins() const { return origins_.trace(); }

 private:
  void collect_states();
  void annotate(uint32_t state, const Sharding& sharding, int level);
  uint32_t add_fixed_state(const TensorType& type, const Sharding& sharding, int level,
                           std::string annotation);
  void collect_nodes();
  void collect_op(OpId id);
  void collect_tensors(const Op& op, FactorRule& rule, Node& node);
  void tie(const std::vector<uint32_t>& states, int64_t rank, OpId op = OpId::kNone,
           int only_source = -1);
  void tie_barrier(OpId id);
  void tie_groups();
  void finish(Node& node);
  void sweep(bool all_ops, bool reductions);
  // `reductions`: also factors that cost communication wherever they are sharded.
  bool visit(const Node& node, bool reductions);
  bool spread(const Node& node, int factor);
  AtomList best_axes(const Node& node, int factor, uint32_t& source) const;
  bool extend(const Node& node, const Node::Tensor& tensor, int factor, const AtomList& axes,
              uint32_t source);
  void write_back();

  Module& module_;
  Function& fn_;
  AtomTable atoms_;
  std::vector<ValueState> states_;  // by value id, then fixed states
  std::vector<Node> nodes_;
  std::vector<int> levels_;
  int level_ = 0;
  OriginTable origins_;
};

void Propagation::annotate(uint32_t state, const Sharding& sharding, int level) {
  ValueState& value = states_[state];
  for (size_t d = 0; d < value.dims.size(); ++d) {
    DimState& dim = value.dims[d];
    dim.axes = atoms_.to_atoms(sharding.dims[d].axes);
    dim.open = sharding.dims[d].open;
    dim.level = sharding.dims[d].priority.value_or(level);
    if (std::find(levels_.begin(), levels_.end(), dim.level) == levels_.end()) {
      levels_.push_back(dim.level);
    }
    value.used |= mask_of(dim.axes);
  }
  value.used |= mask_of(atoms_.to_atoms(sharding.replicated)) |
                mask_of(atoms_.to_atoms(sharding.unreduced)) |
                mask_of(atoms_.to_atoms(sharding.manual));
}

uint32_t Propagation::add_fixed_state(const TensorType& type, const Sharding& sharding, int level,
                                      std::string annotation) {
  ValueState state;
  state.dims.resize(type.shape.size());
  state.elements = type.num_elements();
  states_.push_back(std::move(state));
  const auto index = static_cast<uint32_t>(states_.size() - 1);
  annotate(index, sharding, level);
  origins_.add_fixed(std::move(annotation));
  for (DimState& dim : states_[index].dims) dim.open = false;
  return index;
}

void Propagation::collect_states() {
  states_.resize(fn_.num_value_ids());
  for (size_t i = 0; i < states_.size(); ++i) {
    const TensorType& type = fn_.type(static_cast<ValueId>(i));
    states_[i].dims.resize(type.shape.size());
    states_[i].elements = type.num_elements();
  }
  levels_ = {0};
  for (size_t i = 0; i < fn_.arguments().size(); ++i) {
    const ValueId arg = fn_.arguments()[i];
    const bool is_state = fn_.argument_info[i].aliased_result >= 0;
    if (fn_.value(arg).sharding) {
      annotate(static_cast<uint32_t>(arg), *fn_.value(arg).sharding, is_state ? 1 : 0);
    }
  }
  walk(fn_, [&](OpId id) {
    const Op& op = fn_.op(id);
    for (ValueId result : op.results) {
      if (fn_.value(result).sharding) {
        annotate(static_cast<uint32_t>(result), *fn_.value(result).sharding, 0);
      }
    }
    if (op.code == OpCode::kShardingConstraint || op.code == OpCode::kReshard) {
      annotate(static_cast<uint32_t>(op.results[0]), op.as<ReshardAttrs>().sharding, 0);
    }
    if (op.code == OpCode::kManualComputation) {
      // Inside, manual axes are taken; outside, results are placed as declared.
      const auto& attrs = op.as<ManualComputationAttrs>();
      const AtomMask manual = mask_of(atoms_.to_atoms(attrs.manual_axes));
      for (ValueId arg : fn_.block(op.regions[0]).args) states_[index_of(arg)].used |= manual;
      walk(fn_, op.regions[0], [&](OpId inner) {
        for (ValueId result : fn_.op(inner).results) states_[index_of(result)].used |= manual;
      });
      for (size_t i = 0; i < op.results.size(); ++i) {
        annotate(static_cast<uint32_t>(op.results[i]), attrs.out_shardings[i], 0);
      }
    }
  });
}

void Propagation::tie(const std::vector<uint32_t>& states, int64_t rank, OpId op, int only_source) {
  Node node;
  node.op = op;
  node.pass_through = true;
  node.only_source = only_source;
  std::vector<DimFactors> dims(static_cast<size_t>(rank));
  for (int64_t d = 0; d < rank; ++d) {
    node.factors.push_back({INT64_MAX, FactorKind::kPassThrough});
    dims[static_cast<size_t>(d)] = {static_cast<int>(d)};
  }
  for (uint32_t state : states) node.tensors.push_back({state, dims});
  finish(node);
}

// Axes pass a barrier in its direction only.
void Propagation::tie_barrier(OpId id) {
  const Op& op = fn_.op(id);
  const PropagationDirection allowed = op.as<PropagationBarrierAttrs>().allowed;
  if (allowed == PropagationDirection::kNone) return;
  const int only_source = allowed == PropagationDirection::kForward    ? 0
                          : allowed == PropagationDirection::kBackward ? 1
                                                                       : -1;
  tie({static_cast<uint32_t>(op.operands[0]), static_cast<uint32_t>(op.results[0])},
      fn_.type(op.results[0]).rank(), id, only_source);
}

// Values of one sharding group are placed alike.
void Propagation::tie_groups() {
  struct Group {
    OpId first;
    int64_t rank;
    std::vector<uint32_t> states;
  };
  std::map<int64_t, Group> groups;
  walk(fn_, [&](OpId id) {
    const Op& op = fn_.op(id);
    if (op.code != OpCode::kShardingGroup) return;
    const int64_t group = op.as<ShardingGroupAttrs>().group;
    const int64_t rank = fn_.type(op.operands[0]).rank();
    Group& entry = groups.try_emplace(group, Group{id, rank, {}}).first->second;
    if (entry.rank != rank) {
      throw UserError(
          op.location ? op.location->to_string() : module_.source,
          fmt::format("sharding group {} has values of rank {} and {}", group, entry.rank, rank),
          "values that are placed alike need equal numbers of dimensions");
    }
    entry.states.push_back(static_cast<uint32_t>(op.operands[0]));
  });
  for (const auto& [number, group] : groups) tie(group.states, group.rank, group.first);
}

void Propagation::finish(Node& node) {
  std::vector<int64_t> weight(node.factors.size(), 0);
  for (const Node::Tensor& tensor : node.tensors) {
    for (const DimFactors& dim : tensor.dims) {
      for (int factor : dim) {
        int64_t& best = weight[static_cast<size_t>(factor)];
        best = std::max(best, states_[tensor.state].elements);
      }
    }
  }
  for (size_t f = 0; f < node.factors.size(); ++f) node.order.push_back(static_cast<int>(f));
  std::stable_sort(node.order.begin(), node.order.end(), [&](int a, int b) {
    return weight[static_cast<size_t>(a)] > weight[static_cast<size_t>(b)];
  });
  nodes_.push_back(std::move(node));
}

void Propagation::collect_tensors(const Op& op, FactorRule& rule, Node& node) {
  // Along an exchanged factor a small part of a dimension says little about the whole, and the
  // other way round: blocks of the one are far from those of the other.
  const auto drop_small = [&](ValueId value, TensorFactors& tensor) {
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      if (tensor.dims[d].empty()) continue;
      const Factor& factor = rule.factors[static_cast<size_t>(tensor.dims[d][0])];
      if (factor.exchanged && 2 * fn_.type(value).shape[d] <= factor.size) tensor.dims[d].clear();
    }
  };
  const auto add = [&](ValueId value, TensorFactors& tensor) {
    if (is_free_source(fn_, value)) return;
    drop_small(value, tensor);
    node.tensors.push_back({static_cast<uint32_t>(value), std::move(tensor.dims)});
  };
  for (size_t i = 0; i < op.operands.size(); ++i) {
    ValueId value = op.operands[i];
    if (op.code == OpCode::kConcatenate) {
      value = joined_source(fn_, value, op.as<ConcatenateAttrs>().dim);
    }
    add(value, rule.operands[i]);
  }
  for (size_t i = 0; i < op.results.size(); ++i) add(op.results[i], rule.results[i]);
}

void Propagation::collect_op(OpId id) {
  const Op& op = fn_.op(id);
  const auto state = [](ValueId value) { return static_cast<uint32_t>(value); };
  if (std::optional<FactorRule> rule = factor_rule(fn_, id)) {
    Node node;
    node.op = id;
    node.pass_through =
        family_of(op.code) == OpFamily::kElementwise || family_of(op.code) == OpFamily::kShape;
    collect_tensors(op, *rule, node);
    node.factors = std::move(rule->factors);
    if (node.tensors.size() > 1) finish(node);
    return;
  }
  switch (op.code) {
    case OpCode::kWhile:
      for (size_t i = 0; i < op.operands.size(); ++i) {
        std::vector<uint32_t> tied = {state(op.results[i]), state(fn_.block(op.regions[0]).args[i]),
                                      state(fn_.block(op.regions[1]).args[i])};
        for (ValueId value : {op.operands[i], fn_.op(fn_.terminator(op.regions[1])).operands[i]}) {
          if (!is_free_source(fn_, value)) tied.push_back(state(value));
        }
        tie(tied, fn_.type(op.operands[i]).rank(), id);
      }
      return;
    case OpCode::kIf:
    case OpCode::kCase:
      for (size_t i = 0; i < op.results.size(); ++i) {
        std::vector<uint32_t> tied = {state(op.results[i])};
        for (BlockId region : op.regions) {
          const ValueId value = fn_.op(fn_.terminator(region)).operands[i];
          if (!is_free_source(fn_, value)) tied.push_back(state(value));
        }
        tie(tied, fn_.type(op.results[i]).rank(), id);
      }
      return;
    case OpCode::kOptimizationBarrier:
      for (size_t i = 0; i < op.results.size(); ++i) {
        tie({state(op.operands[i]), state(op.results[i])}, fn_.type(op.results[i]).rank(), id);
      }
      return;
    case OpCode::kPropagationBarrier:
      return tie_barrier(id);
    case OpCode::kShardingConstraint:
    case OpCode::kReshard:
      tie({state(op.operands[0]), state(op.results[0])}, fn_.type(op.results[0]).rank(), id);
      return;
    case OpCode::kManualComputation: {
      const auto& attrs = op.as<ManualComputationAttrs>();
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const TensorType& type = fn_.type(op.operands[i]);
        if (is_free_source(fn_, op.operands[i])) continue;
        tie({state(op.operands[i]), add_fixed_state(type, attrs.in_shardings[i], 0, place_of(op))},
            type.rank(), id);
      }
      return;
    }
    default:
      return;
  }
}

void Propagation::collect_nodes() {
  // Regions of reducers and comparators hold scalars only: nothing to propagate.
  walk(fn_, [&](OpId id) { collect_op(id); });
  tie_groups();
  for (size_t i = 0; i < fn_.results().size(); ++i) {
    const ValueId result = fn_.results()[i];
    if (!fn_.result_info[i].sharding || is_free_source(fn_, result)) continue;
    bool is_state = false;
    for (const ArgumentInfo& info : fn_.argument_info) {
      is_state = is_state || info.aliased_result == static_cast<int>(i);
    }
    tie({static_cast<uint32_t>(result),
         add_fixed_state(fn_.type(result), *fn_.result_info[i].sharding, is_state ? 1 : 0,
                         "result " + name_of_result(fn_, i))},
        fn_.type(result).rank());
  }
  std::sort(levels_.begin(), levels_.end());
}

void Propagation::sweep(bool all_ops, bool reductions) {
  constexpr int kMaxSweeps = 64;  // a bound, not an expectation: every change adds an axis
  for (int i = 0; i < kMaxSweeps; ++i) {
    bool changed = false;
    for (const Node& node : nodes_) {
      if (all_ops || node.pass_through) changed |= visit(node, reductions);
    }
    for (size_t n = nodes_.size(); n-- > 0;) {
      if (all_ops || nodes_[n].pass_through) changed |= visit(nodes_[n], reductions);
    }
    if (!changed) return;
  }
}

bool Propagation::visit(const Node& node, bool reductions) {
  AtomMask any = 0;
  for (const Node::Tensor& tensor : node.tensors) any |= states_[tensor.state].used;
  if (any == 0) return false;
  bool changed = false;
  for (int factor : node.order) {
    const auto& [size, kind, exchanged, kept] = node.factors[static_cast<size_t>(factor)];
    if (kind == FactorKind::kNeedReplication && !kept) continue;
    if ((kind == FactorKind::kReduction || exchanged || kept) && !reductions) continue;
    changed |= spread(node, factor);
  }
  return changed;
}

// The longest list of axes that some tensor gives the factor, from dimensions that may spread now.
AtomList Propagation::best_axes(const Node& node, int factor, uint32_t& source) const {
  AtomList best;
  int64_t best_elements = -1;
  for (size_t t = 0; t < node.tensors.size(); ++t) {
    if (node.only_source >= 0 && t != static_cast<size_t>(node.only_source)) continue;
    const Node::Tensor& tensor = node.tensors[t];
    const ValueState& state = states_[tensor.state];
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      const DimFactors& factors = tensor.dims[d];
      const auto at = std::find(factors.begin(), factors.end(), factor);
      if (at == factors.end() || state.dims[d].axes.empty() || state.dims[d].level > level_) {
        continue;
      }
      AtomList axes = factors.size() == 1
                          ? state.dims[d].axes
                          : axes_of_factors(state.dims[d].axes, factors, node.factors,
                                            atoms_)[static_cast<size_t>(at - factors.begin())];
      const bool longer = axes.size() > best.size();
      if (longer || (axes.size() == best.size() && state.elements > best_elements)) {
        if (axes.empty()) continue;
        best = std::move(axes);
        best_elements = state.elements;
        source = tensor.state;
      }
    }
  }
  return best;
}

bool Propagation::spread(const Node& node, int factor) {
  uint32_t source = 0;
  const AtomList axes = best_axes(node, factor, source);
  if (axes.empty()) return false;
  bool changed = false;
  for (const Node::Tensor& tensor : node.tensors) {
    changed |= extend(node, tensor, factor, axes, source);
  }
  return changed;
}

bool Propagation::extend(const Node& node, const Node::Tensor& tensor, int factor,
                         const AtomList& axes, uint32_t source) {
  ValueState& state = states_[tensor.state];
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    const DimFactors& factors = tensor.dims[d];
    const auto at = std::find(factors.begin(), factors.end(), factor);
    if (at == factors.end() || !state.dims[d].open) continue;
    DimState& dim = state.dims[d];
    const auto position = static_cast<size_t>(at - factors.begin());
    std::vector<AtomList> lists = axes_of_factors(dim.axes, factors, node.factors, atoms_);
    AtomList& own = lists[position];
    if (own.size() >= axes.size() || !std::equal(own.begin(), own.end(), axes.begin()))
      return false;
    for (size_t later = position + 1; later < lists.size(); ++later) {
      if (!lists[later].empty()) return false;
    }
    bool grew = false;
    for (size_t a = own.size(); a < axes.size(); ++a) {
      if (state.used >> axes[a] & 1) break;
      own.push_back(axes[a]);
      grew = true;
    }
    if (!grew) return false;
    std::vector<AtomList> by_factor(node.factors.size());
    for (size_t f = 0; f < factors.size(); ++f) {
      by_factor[static_cast<size_t>(factors[f])] = std::move(lists[f]);
    }
    AtomList joined = axes_of_dim(factors, node.factors, by_factor, atoms_);
    if (joined.size() <= dim.axes.size()) return false;
    if (is_whole(state)) origins_.record(tensor.state, source, node.op);
    dim.axes = std::move(joined);
    dim.level = 0;
    state.used |= mask_of(dim.axes);
    return true;
  }
  return false;
}

void Propagation::write_back() {
  for (size_t i = 0; i < fn_.num_value_ids(); ++i) {
    Value& value = fn_.value(static_cast<ValueId>(i));
    Placement placement = Placement::replicated(value.type.rank());
    for (size_t d = 0; d < states_[i].dims.size(); ++d) {
      placement.dims[d] = std::move(states_[i].dims[d].axes);
    }
    Sharding sharding = to_sharding(placement, atoms_);
    if (value.sharding) {
      sharding.unreduced = value.sharding->unreduced;
      sharding.reduction = value.sharding->reduction;
    }
    value.sharding = std::make_shared<const Sharding>(std::move(sharding));
  }
  // A result that replaces an argument is placed like it; others as declared, or as they came.
  for (size_t i = 0; i < fn_.results().size(); ++i) {
    if (!fn_.result_info[i].sharding) {
      fn_.result_info[i].sharding = fn_.value(fn_.results()[i]).sharding;
    }
  }
  for (size_t i = 0; i < fn_.argument_info.size(); ++i) {
    const int result = fn_.argument_info[i].aliased_result;
    if (result < 0) continue;
    fn_.result_info[static_cast<size_t>(result)].sharding = fn_.value(fn_.arguments()[i]).sharding;
  }
}

}  // namespace

void propagate_shardings(Module& module, ShardingOrigins* origins) {
  if (module.mesh.num_axes() == 0) return;
  Propagation propagation(module);
  propagation.run();
  if (origins != nullptr) *origins = propagation.origins();
}

}  // namespace spmd
