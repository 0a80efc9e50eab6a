#include "passes/partition/dimension_classes.h"

#include <algorithm>
#include <numeric>

#include "sharding/propagation/factor_axes.h"
#include "sharding/propagation/propagation.h"
#include "support/error.h"

namespace spmd {

std::vector<bool> exact_factors(const FactorRule& rule) {
  std::vector<bool> exact(rule.factors.size());
  for (size_t f = 0; f < exact.size(); ++f) {
    exact[f] = rule.factors[f].kind == FactorKind::kNeedReplication || rule.factors[f].exchanged;
  }
  const auto mark = [&](const std::vector<TensorFactors>& tensors) {
    for (const TensorFactors& tensor : tensors) {
      for (const DimFactors& factors : tensor.dims) {
        for (size_t i = 1; i < factors.size(); ++i) exact[static_cast<size_t>(factors[i])] = true;
      }
    }
  };
  mark(rule.operands);
  mark(rule.results);
  return exact;
}

DimensionClasses::DimensionClasses(const Function& fn, const std::vector<Placement>& placements,
                                   const AtomTable& atoms, ReshardCosts& costs)
    : fn_(fn), placements_(placements), atoms_(atoms), costs_(costs) {
  first_.reserve(fn.num_value_ids());
  for (size_t i = 0; i < fn.num_value_ids(); ++i) {
    first_.push_back(static_cast<uint32_t>(size_.size()));
    const Dims& shape = fn.type(static_cast<ValueId>(i)).shape;
    size_.insert(size_.end(), shape.begin(), shape.end());
  }
  parent_.resize(size_.size());
  std::iota(parent_.begin(), parent_.end(), 0u);
  multiple_.assign(size_.size(), 1);
  for (size_t i = 0; i < fn.num_value_ids(); ++i) {
    require(static_cast<ValueId>(i), placements[i]);
  }
  walk(fn, [&](OpId id) { tie_op(id); });
  for (size_t i = 0; i < fn.argument_info.size(); ++i) {
    const int result = fn.argument_info[i].aliased_result;
    if (result >= 0) tie_values(fn.arguments()[i], fn.results()[static_cast<size_t>(result)]);
  }
  solve();
}

uint32_t DimensionClasses::find(uint32_t node) const {
  while (parent_[node] != node) {
    parent_[node] = parent_[parent_[node]];
    node = parent_[node];
  }
  return node;
}

void DimensionClasses::unite(uint32_t a, uint32_t b) {
  a = find(a);
  b = find(b);
  if (a != b) parent_[std::max(a, b)] = std::min(a, b);
}

void DimensionClasses::tie_values(ValueId a, ValueId b) {
  for (size_t d = 0; d < fn_.type(a).shape.size(); ++d) unite(node(a, d), node(b, d));
}

void DimensionClasses::require(ValueId value, const Placement& placement) {
  for (size_t d = 0; d < placement.dims.size(); ++d) {
    int64_t& multiple = multiple_[node(value, d)];
    multiple = std::lcm(multiple, atoms_.extent(placement.dims[d]));
  }
}

void DimensionClasses::require_reshard(const Op& op) {
  const Placement& from = placements_[index_of(op.operands[0])];
  const Placement& to = placements_[index_of(op.results[0])];
  const AtomMask manual = manual_axes_around(fn_, op.block, atoms_);
  for (const ReshardStep& step : costs_.plan(fn_.type(op.operands[0]), from, to, manual).steps) {
    require(op.operands[0], to_placement(step.result, atoms_));
  }
}

// Shards of a dimension of several factors hold whole blocks of the major one.
void DimensionClasses::require_whole_factors(const TensorFactors& tensor, ValueId value,
                                             const std::vector<Factor>& factors) {
  const Placement& placement = placements_[index_of(value)];
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    const DimFactors& dim = tensor.dims[d];
    if (dim.size() < 2 || placement.dims[d].empty()) continue;
    int64_t minor = 1;
    for (size_t f = 1; f < dim.size(); ++f) minor *= factors[static_cast<size_t>(dim[f])].size;
    const AtomList major = axes_of_factors(placement.dims[d], dim, factors, atoms_)[0];
    int64_t& multiple = multiple_[node(value, d)];
    multiple = std::lcm(multiple, atoms_.extent(major) * minor);
  }
}

void DimensionClasses::tie_by_rule(const Op& op, const FactorRule& rule) {
  const std::vector<bool> exact = exact_factors(rule);
  std::vector<uint32_t> representative(rule.factors.size(), UINT32_MAX);
  const auto tie = [&](const TensorFactors& tensor, ValueId value) {
    // A value that can be made anew in any size does not tie its users to each other.
    if (is_free_source(fn_, value)) return;
    require_whole_factors(tensor, value, rule.factors);
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      if (tensor.dims[d].empty()) continue;
      const auto factor = static_cast<size_t>(tensor.dims[d][0]);
      if (exact[factor]) continue;
      if (representative[factor] == UINT32_MAX) {
        representative[factor] = node(value, d);
      } else {
        unite(representative[factor], node(value, d));
      }
    }
  };
  for (size_t i = 0; i < op.operands.size(); ++i) tie(rule.operands[i], op.operands[i]);
  for (size_t i = 0; i < op.results.size(); ++i) tie(rule.results[i], op.results[i]);
}

void DimensionClasses::tie_op(OpId id) {
  const Op& op = fn_.op(id);
  if (std::optional<FactorRule> rule = factor_rule(fn_, id)) {
    tie_by_rule(op, *rule);
    return;
  }
  switch (op.code) {
    case OpCode::kReshard:
      require_reshard(op);
      if (!is_free_source(fn_, op.operands[0])) tie_values(op.operands[0], op.results[0]);
      return;
    case OpCode::kOptimizationBarrier:
      for (size_t i = 0; i < op.results.size(); ++i) tie_values(op.operands[i], op.results[i]);
      return;
    case OpCode::kWhile:
      for (size_t i = 0; i < op.results.size(); ++i) {
        tie_values(op.results[i], fn_.block(op.regions[0]).args[i]);
        tie_values(op.results[i], fn_.block(op.regions[1]).args[i]);
        for (ValueId value : {op.operands[i], fn_.op(fn_.terminator(op.regions[1])).operands[i]}) {
          if (!is_free_source(fn_, value)) tie_values(op.results[i], value);
        }
      }
      return;
    case OpCode::kIf:
    case OpCode::kCase:
      for (size_t i = 0; i < op.results.size(); ++i) {
        for (BlockId region : op.regions) {
          const ValueId value = fn_.op(fn_.terminator(region)).operands[i];
          if (!is_free_source(fn_, value)) tie_values(op.results[i], value);
        }
      }
      return;
    default:
      return;  // sees true sizes
  }
}

void DimensionClasses::solve() {
  gcd_.assign(size_.size(), 0);
  units_.assign(size_.size(), 0);
  for (uint32_t i = 0; i < size_.size(); ++i) {
    int64_t& g = gcd_[find(i)];
    g = std::gcd(g, size_[i]);
  }
  std::vector<int64_t> unit_multiple(size_.size(), 1);
  for (uint32_t i = 0; i < size_.size(); ++i) {
    if (size_[i] == 0) continue;
    const uint32_t root = find(i);
    const int64_t ratio = size_[i] / gcd_[root];
    unit_multiple[root] =
        std::lcm(unit_multiple[root], multiple_[i] / std::gcd(multiple_[i], ratio));
  }
  for (uint32_t i = 0; i < size_.size(); ++i) {
    if (find(i) != i) continue;
    const int64_t unit = unit_multiple[i];
    units_[i] = (gcd_[i] + unit - 1) / unit * unit;
    any_padding_ = any_padding_ || units_[i] != gcd_[i];
  }
}

Dims DimensionClasses::padded_shape(ValueId value) const {
  Dims shape = fn_.type(value).shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    const uint32_t root = find(node(value, d));
    if (gcd_[root] != 0) shape[d] = shape[d] / gcd_[root] * units_[root];
  }
  return shape;
}

std::vector<int64_t> DimensionClasses::factor_sizes(OpId id, const FactorRule& rule) const {
  const Op& op = fn_.op(id);
  const std::vector<bool> exact = exact_factors(rule);
  std::vector<int64_t> sizes;
  for (const Factor& factor : rule.factors) sizes.push_back(factor.size);
  const auto read = [&](const TensorFactors& tensor, ValueId value) {
    if (is_free_source(fn_, value)) return;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      if (tensor.dims[d].empty()) continue;
      const auto factor = static_cast<size_t>(tensor.dims[d][0]);
      const uint32_t root = find(node(value, d));
      if (exact[factor] || gcd_[root] == 0) continue;
      sizes[factor] = rule.factors[factor].size * units_[root] / gcd_[root];
    }
  };
  for (size_t i = 0; i < op.operands.size(); ++i) read(rule.operands[i], op.operands[i]);
  for (size_t i = 0; i < op.results.size(); ++i) read(rule.results[i], op.results[i]);
  return sizes;
}

}  // namespace spmd
