#include "sharding/propagation/propagation.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "sharding/propagation/graph.h"
#include "sharding/sharding_pool.h"
#include "support/error.h"

namespace spmd {

bool is_free_source(const Function& fn, ValueId value) {
  const Op* op = fn.def(value);
  if (op == nullptr) return false;
  return op->code == OpCode::kConstant || op->code == OpCode::kIota ||
         (op->code == OpCode::kBroadcastInDim && fn.type(op->operands[0]).rank() == 0);
}

namespace propagation {
namespace {

bool is_whole(std::span<const DimState> dims) {
  return std::all_of(dims.begin(), dims.end(),
                     [](const DimState& dim) { return dim.axes.empty(); });
}

class Propagation {
 public:
  explicit Propagation(Module& module)
      : module_(module), fn_(module.main()), atoms_(module.mesh), origins_(fn_) {}

  void run() {
    graph_ = collect_graph(module_, atoms_, origins_);
    index_nodes();
    for (int level : graph_.levels) {
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
  // For each state, the nodes that have it.
  void index_nodes();
  void sweep(bool all_ops, bool reductions);
  // Visits the node if one of its tensors has changed since it was last.
  bool revisit(size_t node, bool all_ops, bool reductions);
  // `reductions`: also factors that cost communication wherever they are sharded.
  bool visit(const Node& node, bool reductions);
  bool spread(const Node& node, int factor);
  AtomList best_axes(const Node& node, int factor, uint32_t& source) const;
  bool extend(const Node& node, const Tensor& tensor, int factor, const AtomList& axes,
              uint32_t source);
  void write_back();

  Module& module_;
  Function& fn_;
  AtomTable atoms_;
  Graph graph_;
  int level_ = 0;
  OriginTable origins_;
  // Nodes of state s: nodes_of_state_[first_node_[s], first_node_[s + 1]).
  std::vector<uint32_t> first_node_, nodes_of_state_;
  std::vector<uint8_t> stale_;  // by node: a visit may change something
};

void Propagation::index_nodes() {
  first_node_.assign(graph_.states.size() + 1, 0);
  const auto for_each_tensor = [&](auto&& visit) {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const Tensor& tensor : graph_.tensors_of(graph_.nodes[n])) {
        visit(tensor.state, static_cast<uint32_t>(n));
      }
    }
  };
  for_each_tensor([&](uint32_t state, uint32_t) { ++first_node_[state + 1]; });
  std::partial_sum(first_node_.begin(), first_node_.end(), first_node_.begin());
  nodes_of_state_.resize(first_node_.back());
  std::vector<uint32_t> next(first_node_.begin(), first_node_.end() - 1);
  for_each_tensor([&](uint32_t state, uint32_t node) { nodes_of_state_[next[state]++] = node; });
}

// What a visit does depends on the states of the node's tensors, on the level and on the arguments:
// a node that was visited since any of them changed is left out.
bool Propagation::revisit(size_t n, bool all_ops, bool reductions) {
  if (stale_[n] == 0 || !(all_ops || graph_.nodes[n].pass_through)) return false;
  stale_[n] = 0;
  return visit(graph_.nodes[n], reductions);
}

void Propagation::sweep(bool all_ops, bool reductions) {
  stale_.assign(graph_.nodes.size(), 1);
  constexpr int kMaxSweeps = 64;  // a bound, not an expectation: every change adds an axis
  for (int i = 0; i < kMaxSweeps; ++i) {
    bool changed = false;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) changed |= revisit(n, all_ops, reductions);
    for (size_t n = graph_.nodes.size(); n-- > 0;) changed |= revisit(n, all_ops, reductions);
    if (!changed) return;
  }
}

bool Propagation::visit(const Node& node, bool reductions) {
  AtomMask any = 0;
  for (const Tensor& tensor : graph_.tensors_of(node)) any |= graph_.states[tensor.state].used;
  if (any == 0) return false;
  bool changed = false;
  for (int factor : graph_.order_of(node)) {
    const auto& [size, kind, exchanged, kept] =
        graph_.factors_of(node)[static_cast<size_t>(factor)];
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
  const std::span<const Tensor> tensors = graph_.tensors_of(node);
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (node.only_source >= 0 && t != static_cast<size_t>(node.only_source)) continue;
    const ValueState& state = graph_.states[tensors[t].state];
    const std::span<const DimState> dims = graph_.dims_of(state);
    const std::span<const DimFactors> factors_of_dims = graph_.dims_of(tensors[t]);
    for (size_t d = 0; d < factors_of_dims.size(); ++d) {
      const DimFactors& factors = factors_of_dims[d];
      const auto at = std::find(factors.begin(), factors.end(), factor);
      if (at == factors.end() || dims[d].axes.empty() || dims[d].level > level_) {
        continue;
      }
      AtomList axes = factors.size() == 1
                          ? dims[d].axes
                          : axes_of_factors(dims[d].axes, factors, graph_.factors_of(node),
                                            atoms_)[static_cast<size_t>(at - factors.begin())];
      const bool longer = axes.size() > best.size();
      if (longer || (axes.size() == best.size() && state.elements > best_elements)) {
        if (axes.empty()) continue;
        best = std::move(axes);
        best_elements = state.elements;
        source = tensors[t].state;
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
  for (const Tensor& tensor : graph_.tensors_of(node)) {
    changed |= extend(node, tensor, factor, axes, source);
  }
  return changed;
}

bool Propagation::extend(const Node& node, const Tensor& tensor, int factor, const AtomList& axes,
                         uint32_t source) {
  ValueState& state = graph_.states[tensor.state];
  const std::span<DimState> dims = graph_.dims_of(state);
  const std::span<const DimFactors> factors_of_dims = graph_.dims_of(tensor);
  for (size_t d = 0; d < factors_of_dims.size(); ++d) {
    const DimFactors& factors = factors_of_dims[d];
    const auto at = std::find(factors.begin(), factors.end(), factor);
    DimState& dim = dims[d];
    if (at == factors.end() || !dim.open) continue;
    // The most frequent end of it, found without the lists.
    if (factors.size() == 1 && (dim.axes.size() >= axes.size() ||
                                !std::equal(dim.axes.begin(), dim.axes.end(), axes.begin()) ||
                                (state.used >> axes[dim.axes.size()] & 1) != 0)) {
      return false;
    }
    const std::span<const Factor> node_factors = graph_.factors_of(node);
    const auto position = static_cast<size_t>(at - factors.begin());
    std::vector<AtomList> lists = axes_of_factors(dim.axes, factors, node_factors, atoms_);
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
    std::vector<AtomList> by_factor(node_factors.size());
    for (size_t f = 0; f < factors.size(); ++f) {
      by_factor[static_cast<size_t>(factors[f])] = std::move(lists[f]);
    }
    AtomList joined = axes_of_dim(factors, node_factors, by_factor, atoms_);
    if (joined.size() <= dim.axes.size()) return false;
    if (is_whole(dims)) origins_.record(tensor.state, source, node.op);
    dim.axes = std::move(joined);
    dim.level = 0;
    state.used |= mask_of(dim.axes);
    for (uint32_t i = first_node_[tensor.state]; i < first_node_[tensor.state + 1]; ++i) {
      stale_[nodes_of_state_[i]] = 1;
    }
    return true;
  }
  return false;
}

void Propagation::write_back() {
  ShardingPool shardings(atoms_);
  for (size_t i = 0; i < fn_.num_value_ids(); ++i) {
    Value& value = fn_.value(static_cast<ValueId>(i));
    Placement placement = Placement::replicated(value.type.rank());
    const std::span<DimState> dims = graph_.dims_of(graph_.states[i]);
    for (size_t d = 0; d < dims.size(); ++d) placement.dims[d] = std::move(dims[d].axes);
    const ShardingRef before = std::exchange(value.sharding, shardings.of(placement));
    if (before == nullptr || before->unreduced.empty()) continue;
    Sharding sharding = *value.sharding;
    sharding.unreduced = before->unreduced;
    sharding.reduction = before->reduction;
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
}  // namespace propagation

void propagate_shardings(Module& module, ShardingOrigins* origins) {
  if (module.mesh.num_axes() == 0) return;
  propagation::Propagation spreading(module);
  spreading.run();
  if (origins != nullptr) *origins = spreading.origins();
}

}  // namespace spmd
