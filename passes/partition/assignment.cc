#include "passes/partition/assignment.h"

#include <algorithm>

#include "sharding/propagation/factor_axes.h"

namespace spmd {

FactorAssignment project(const FactorRule& rule, const TensorFactors& tensor,
                         const Placement& placement, const AtomTable& atoms) {
  FactorAssignment assignment{std::vector<AtomList>(rule.factors.size())};
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (placement.dims[d].empty()) continue;
    std::vector<AtomList> lists =
        axes_of_factors(placement.dims[d], tensor.dims[d], rule.factors, atoms);
    for (size_t f = 0; f < lists.size(); ++f) {
      const auto factor = static_cast<size_t>(tensor.dims[d][f]);
      if (rule.factors[factor].kind == FactorKind::kNeedReplication) continue;
      assignment.axes[factor] = std::move(lists[f]);
    }
  }
  return assignment;
}

namespace {

// Axes that shard dimensions of a tensor that every device needs whole.
AtomList unwanted_axes(const FactorRule& rule, const TensorFactors& tensor,
                       const Placement& placement) {
  AtomList axes;
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (tensor.dims[d].size() != 1) continue;
    if (rule.factors[static_cast<size_t>(tensor.dims[d][0])].kind != FactorKind::kNeedReplication) {
      continue;
    }
    axes.insert(axes.end(), placement.dims[d].begin(), placement.dims[d].end());
  }
  return axes;
}

bool occurs(const std::vector<TensorFactors>& tensors, int factor) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const TensorFactors& tensor) {
    return std::any_of(tensor.dims.begin(), tensor.dims.end(), [&](const DimFactors& dim) {
      return std::find(dim.begin(), dim.end(), factor) != dim.end();
    });
  });
}

// Whether a factor is the only one of every dimension that it is in: such a dimension may be
// padded.
bool is_alone(const FactorRule& rule, int factor) {
  const auto alone = [&](const TensorFactors& tensor) {
    return std::all_of(tensor.dims.begin(), tensor.dims.end(), [&](const DimFactors& dim) {
      return dim.size() < 2 || std::find(dim.begin(), dim.end(), factor) == dim.end();
    });
  };
  return std::all_of(rule.operands.begin(), rule.operands.end(), alone) &&
         std::all_of(rule.results.begin(), rule.results.end(), alone);
}

// Adds axes to the longest factor of `tensor` and the results that passes through and that they
// divide or, unless `evenly`, leave no shard empty of. False where there is none.
bool add_to_longest(const FactorRule& rule, const TensorFactors& tensor, const AtomList& axes,
                    bool evenly, const AtomTable& atoms, FactorAssignment& assignment) {
  int longest = -1;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    const Factor& factor = rule.factors[f];
    const int index = static_cast<int>(f);
    if (factor.kind != FactorKind::kPassThrough || factor.exchanged) continue;
    const int64_t shards = atoms.extent(assignment.axes[f]) * atoms.extent(axes);
    if (evenly ? factor.size % shards != 0 : factor.size < shards || !is_alone(rule, index)) {
      continue;
    }
    if (!occurs({tensor}, index) || !occurs(rule.results, index)) continue;
    if (longest < 0 || factor.size > rule.factors[static_cast<size_t>(longest)].size) {
      longest = index;
    }
  }
  if (longest < 0) return false;
  AtomList& list = assignment.axes[static_cast<size_t>(longest)];
  list.insert(list.end(), axes.begin(), axes.end());
  return true;
}

}  // namespace

std::optional<FactorAssignment> with_moved_axes(const FactorRule& rule, const TensorFactors& tensor,
                                                const Placement& placement,
                                                const FactorAssignment& projected,
                                                const AtomTable& atoms) {
  const AtomList unwanted = unwanted_axes(rule, tensor, placement);
  if (unwanted.empty()) return std::nullopt;
  FactorAssignment moved = projected;
  const auto add = [&](const AtomList& axes, bool evenly) {
    return add_to_longest(rule, tensor, axes, evenly, atoms, moved);
  };
  if (add(unwanted, /*evenly=*/true)) return moved;
  if (std::all_of(unwanted.begin(), unwanted.end(),
                  [&](Atom axis) { return add({axis}, /*evenly=*/true); })) {
    return moved;
  }
  moved = projected;
  if (add(unwanted, /*evenly=*/false)) return moved;
  return std::nullopt;
}

bool may_stay_whole(const FactorRule& rule, size_t operand, size_t dim) {
  const DimFactors& factors = rule.operands[operand].dims[dim];
  if (factors.empty() || !rule.factors[static_cast<size_t>(factors[0])].exchanged) return false;
  // Of a convolution whose kernel is cut the input follows the kernel.
  return occurs(rule.results, factors[0]) ||
         (operand == 0 && rule.operands.size() > 1 && occurs({rule.operands[1]}, factors[0]));
}

FactorAssignment without_exchanges(const FactorRule& rule, FactorAssignment assignment) {
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    if (rule.factors[f].exchanged) assignment.axes[f].clear();
  }
  return assignment;
}

void merge(const FactorRule& rule, FactorAssignment& base, const FactorAssignment& other) {
  AtomMask used = base.mask();
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    AtomList& mine = base.axes[f];
    const AtomList& theirs = other.axes[f];
    if (mine.size() >= theirs.size()) continue;
    if (!std::equal(mine.begin(), mine.end(), theirs.begin())) continue;
    for (size_t a = mine.size(); a < theirs.size() && (used >> theirs[a] & 1) == 0; ++a) {
      mine.push_back(theirs[a]);
      used |= AtomMask{1} << theirs[a];
    }
  }
}

void normalise(const FactorRule& rule, FactorAssignment& assignment, const AtomTable& atoms) {
  const auto covered = [&](int factor) {
    return atoms.extent(assignment.axes[static_cast<size_t>(factor)]);
  };
  const auto check = [&](const TensorFactors& tensor) {
    bool dropped = false;
    for (const DimFactors& factors : tensor.dims) {
      for (size_t f = 1; f < factors.size(); ++f) {
        const auto minor = static_cast<size_t>(factors[f]);
        if (assignment.axes[minor].empty()) continue;
        const auto major = static_cast<size_t>(factors[f - 1]);
        if (covered(factors[f - 1]) == rule.factors[major].size &&
            rule.factors[minor].size % covered(factors[f]) == 0) {
          continue;
        }
        assignment.axes[minor].clear();
        dropped = true;
      }
    }
    return dropped;
  };
  for (bool dropped = true; dropped;) {
    dropped = false;
    for (const TensorFactors& tensor : rule.operands) dropped |= check(tensor);
    for (const TensorFactors& tensor : rule.results) dropped |= check(tensor);
  }
}

Placement place(const FactorRule& rule, const TensorFactors& tensor,
                const FactorAssignment& assignment, const AtomTable& atoms) {
  Placement placement;
  placement.dims.reserve(tensor.dims.size());
  for (const DimFactors& factors : tensor.dims) {
    placement.dims.push_back(axes_of_dim(factors, rule.factors, assignment.axes, atoms));
  }
  return placement;
}

AtomList partial_axes(const FactorRule& rule, const FactorAssignment& assignment) {
  AtomList partial;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    const FactorKind kind = rule.factors[f].kind;
    if (assignment.axes[f].empty() || kind == FactorKind::kPassThrough) continue;
    bool in_result = false;
    for (const TensorFactors& result : rule.results) {
      for (const DimFactors& dim : result.dims) {
        in_result =
            in_result || std::find(dim.begin(), dim.end(), static_cast<int>(f)) != dim.end();
      }
    }
    if (in_result) continue;
    partial.insert(partial.end(), assignment.axes[f].begin(), assignment.axes[f].end());
  }
  std::sort(partial.begin(), partial.end());
  return partial;
}

FactorAssignment assignment_of(const FactorRule& rule, const std::vector<Placement>& operands,
                               const std::vector<Placement>& results, const AtomTable& atoms) {
  FactorAssignment assignment{std::vector<AtomList>(rule.factors.size())};
  for (size_t i = 0; i < operands.size(); ++i) {
    merge(rule, assignment, project(rule, rule.operands[i], operands[i], atoms));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    merge(rule, assignment, project(rule, rule.results[i], results[i], atoms));
  }
  normalise(rule, assignment, atoms);
  return assignment;
}

}  // namespace spmd
