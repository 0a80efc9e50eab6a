#include "sharding/propagation/graph.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "ir/describe.h"
#include "sharding/propagation/propagation.h"
#include "support/error.h"

namespace spmd::propagation {
namespace {

class GraphCollector {
 public:
  GraphCollector(const Module& module, const AtomTable& atoms, OriginTable& origins)
      : module_(module), fn_(module.main()), atoms_(atoms), origins_(origins) {}

  Graph collect() {
    collect_states();
    collect_nodes();
    return std::move(graph_);
  }

 private:
  void collect_states();
  void annotate(uint32_t state, const Sharding& sharding, int level);
  uint32_t add_fixed_state(const TensorType& type, const Sharding& sharding, int level,
                           std::string annotation);
  void collect_nodes();
  void collect_op(OpId id);
  void collect_tensors(const Op& op, FactorRule& rule);
  void tie(const std::vector<uint32_t>& states, int64_t rank, OpId op = OpId::kNone,
           int only_source = -1);
  void tie_barrier(OpId id);
  void tie_groups();
  ValueState new_state(const TensorType& type);
  // A node is begun, given tensors, and finished (or given up).
  void begin(OpId op);
  void add_tensor(uint32_t state, std::span<const DimFactors> dims);
  void finish(std::span<const Factor> factors);
  void give_up();

  const Module& module_;
  const Function& fn_;
  const AtomTable& atoms_;
  OriginTable& origins_;
  Graph graph_;
  std::vector<int64_t> weight_;  // by factor of the node being finished
};

void GraphCollector::annotate(uint32_t state, const Sharding& sharding, int level) {
  ValueState& value = graph_.states[state];
  const std::span<DimState> dims = graph_.dims_of(value);
  for (size_t d = 0; d < dims.size(); ++d) {
    DimState& dim = dims[d];
    dim.axes = atoms_.to_atoms(sharding.dims[d].axes);
    dim.open = sharding.dims[d].open;
    dim.level = sharding.dims[d].priority.value_or(level);
    if (std::find(graph_.levels.begin(), graph_.levels.end(), dim.level) == graph_.levels.end()) {
      graph_.levels.push_back(dim.level);
    }
    value.used |= mask_of(dim.axes);
  }
  value.used |= mask_of(atoms_.to_atoms(sharding.replicated)) |
                mask_of(atoms_.to_atoms(sharding.unreduced)) |
                mask_of(atoms_.to_atoms(sharding.manual));
}

uint32_t GraphCollector::add_fixed_state(const TensorType& type, const Sharding& sharding,
                                         int level, std::string annotation) {
  graph_.states.push_back(new_state(type));
  const auto index = static_cast<uint32_t>(graph_.states.size() - 1);
  annotate(index, sharding, level);
  origins_.add_fixed(std::move(annotation));
  for (DimState& dim : graph_.dims_of(graph_.states[index])) dim.open = false;
  return index;
}

ValueState GraphCollector::new_state(const TensorType& type) {
  const Slice dims{static_cast<uint32_t>(graph_.dims.size()),
                   static_cast<uint32_t>(type.shape.size())};
  graph_.dims.resize(graph_.dims.size() + dims.count);
  return {.dims = dims, .elements = type.num_elements()};
}

void GraphCollector::collect_states() {
  graph_.states.reserve(fn_.num_value_ids());
  for (size_t i = 0; i < fn_.num_value_ids(); ++i) {
    graph_.states.push_back(new_state(fn_.type(static_cast<ValueId>(i))));
  }
  graph_.levels = {0};
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
      for (ValueId arg : fn_.block(op.regions[0]).args) graph_.states[index_of(arg)].used |= manual;
      walk(fn_, op.regions[0], [&](OpId inner) {
        for (ValueId result : fn_.op(inner).results) graph_.states[index_of(result)].used |= manual;
      });
      for (size_t i = 0; i < op.results.size(); ++i) {
        annotate(static_cast<uint32_t>(op.results[i]), attrs.out_shardings[i], 0);
      }
    }
  });
}

void GraphCollector::tie(const std::vector<uint32_t>& states, int64_t rank, OpId op,
                         int only_source) {
  const std::vector<Factor> factors(static_cast<size_t>(rank),
                                    {INT64_MAX, FactorKind::kPassThrough});
  std::vector<DimFactors> dims(static_cast<size_t>(rank));
  for (int64_t d = 0; d < rank; ++d) dims[static_cast<size_t>(d)] = {static_cast<int>(d)};
  begin(op);
  graph_.nodes.back().pass_through = true;
  graph_.nodes.back().only_source = only_source;
  for (uint32_t state : states) add_tensor(state, dims);
  finish(factors);
}

// Axes pass a barrier in its direction only.
void GraphCollector::tie_barrier(OpId id) {
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
void GraphCollector::tie_groups() {
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

void GraphCollector::begin(OpId op) {
  graph_.nodes.push_back({.factors = {static_cast<uint32_t>(graph_.factors.size()), 0},
                          .tensors = {static_cast<uint32_t>(graph_.tensors.size()), 0},
                          .op = op});
}

void GraphCollector::add_tensor(uint32_t state, std::span<const DimFactors> dims) {
  const Slice slice{static_cast<uint32_t>(graph_.tensor_dims.size()),
                    static_cast<uint32_t>(dims.size())};
  graph_.tensor_dims.insert(graph_.tensor_dims.end(), dims.begin(), dims.end());
  graph_.tensors.push_back({state, slice});
  ++graph_.nodes.back().tensors.count;
}

void GraphCollector::give_up() {
  const Slice tensors = graph_.nodes.back().tensors;
  if (tensors.count > 0) graph_.tensor_dims.resize(graph_.tensors[tensors.first].dims.first);
  graph_.tensors.resize(tensors.first);
  graph_.nodes.pop_back();
}

void GraphCollector::finish(std::span<const Factor> factors) {
  Node& node = graph_.nodes.back();
  node.factors.count = static_cast<uint32_t>(factors.size());
  graph_.factors.insert(graph_.factors.end(), factors.begin(), factors.end());
  weight_.assign(factors.size(), 0);
  for (const Tensor& tensor : graph_.tensors_of(node)) {
    for (const DimFactors& dim : graph_.dims_of(tensor)) {
      for (int factor : dim) {
        int64_t& best = weight_[static_cast<size_t>(factor)];
        best = std::max(best, graph_.states[tensor.state].elements);
      }
    }
  }
  graph_.order.resize(graph_.factors.size());
  const auto order = graph_.order.begin() + node.factors.first;
  std::iota(order, graph_.order.end(), 0);
  std::sort(order, graph_.order.end(), [&](int a, int b) {
    const int64_t of_a = weight_[static_cast<size_t>(a)], of_b = weight_[static_cast<size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  });
}

void GraphCollector::collect_tensors(const Op& op, FactorRule& rule) {
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
    add_tensor(static_cast<uint32_t>(value), tensor.dims);
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

void GraphCollector::collect_op(OpId id) {
  const Op& op = fn_.op(id);
  const auto state = [](ValueId value) { return static_cast<uint32_t>(value); };
  if (std::optional<FactorRule> rule = factor_rule(fn_, id)) {
    begin(id);
    graph_.nodes.back().pass_through =
        family_of(op.code) == OpFamily::kElementwise || family_of(op.code) == OpFamily::kShape;
    collect_tensors(op, *rule);
    if (graph_.nodes.back().tensors.count < 2) return give_up();
    return finish(rule->factors);
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

void GraphCollector::collect_nodes() {
  // Regions of reducers and comparators hold scalars only: nothing to propagate.
  walk(fn_, [&](OpId id) { collect_op(id); });
  tie_groups();
  std::vector<bool> is_state(fn_.results().size(), false);
  for (const ArgumentInfo& info : fn_.argument_info) {
    if (info.aliased_result >= 0) is_state[static_cast<size_t>(info.aliased_result)] = true;
  }
  for (size_t i = 0; i < fn_.results().size(); ++i) {
    const ValueId result = fn_.results()[i];
    if (!fn_.result_info[i].sharding || is_free_source(fn_, result)) continue;
    tie({static_cast<uint32_t>(result),
         add_fixed_state(fn_.type(result), *fn_.result_info[i].sharding, is_state[i] ? 1 : 0,
                         "result " + name_of_result(fn_, i))},
        fn_.type(result).rank());
  }
  std::sort(graph_.levels.begin(), graph_.levels.end());
}

}  // namespace

Graph collect_graph(const Module& module, const AtomTable& atoms, OriginTable& origins) {
  return GraphCollector(module, atoms, origins).collect();
}

}  // namespace spmd::propagation
