#include "passes/partition/placement_choice.h"

#include <algorithm>

#include "passes/partition/exchanged_op.h"
#include "passes/partition/op_cost.h"
#include "sharding/propagation/propagation.h"

namespace spmd {

Placement PlacementChoice::needed(const Op& op, const FactorRule& rule, size_t operand,
                                  const FactorAssignment& assignment) const {
  Placement target = place(rule, rule.operands[operand], assignment, atoms_);
  const auto& once = rule.once_operands;
  if (std::find(once.begin(), once.end(), static_cast<int>(operand)) != once.end()) {
    target.partial = partial_axes(rule, assignment);
    target.reduction = rule.reduction;
  }
  // A device that has all rows of an exchanged factor takes what it needs of them.
  const Placement now = placement_(op.operands[operand]);
  for (size_t d = 0; d < target.dims.size(); ++d) {
    if (now.dims[d].empty() && may_stay_whole(rule, operand, d)) target.dims[d].clear();
  }
  return target;
}

Placement PlacementChoice::produced(const FactorRule& rule, size_t result,
                                    const FactorAssignment& assignment) const {
  Placement natural = place(rule, rule.results[result], assignment, atoms_);
  natural.partial = partial_axes(rule, assignment);
  natural.reduction = rule.reduction;
  return natural;
}

double PlacementChoice::exchanges_of(const Op& op, const FactorRule& rule,
                                     const FactorAssignment& assignment) const {
  // The op's own operands and results are where it will have them.
  const auto where = [&](ValueId value) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (op.operands[i] == value) return needed(op, rule, i, assignment);
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (op.results[i] == value) return produced(rule, i, assignment);
    }
    return placement_(value);
  };
  const auto block = [&](ValueId value, int64_t dim) {
    const int64_t shards = atoms_.extent(where(value).dims[static_cast<size_t>(dim)]);
    return (fn_.type(value).dim(dim) + shards - 1) / shards;
  };
  return exchange_seconds({fn_, atoms_, where, block, {}, {}}, op, rule, assignment, cost_);
}

ValueId PlacementChoice::source_of(const Op& op, size_t operand, const FactorAssignment& assignment,
                                   const FactorRule& rule) const {
  if (op.code != OpCode::kConcatenate) return op.operands[operand];
  const auto dim = op.as<ConcatenateAttrs>().dim;
  const Placement target = needed(op, rule, operand, assignment);
  if (!target.dims[static_cast<size_t>(dim)].empty()) return op.operands[operand];
  return joined_source(fn_, op.operands[operand], dim);
}

double PlacementChoice::cost_of(const Op& op, const FactorRule& rule,
                                const FactorAssignment& assignment) {
  double seconds = 0;
  std::vector<ValueId> sources;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const ValueId source = source_of(op, i, assignment, rule);
    if (is_free_source(fn_, source)) continue;
    // Parts of one value that are joined anew are cut from it when it is gathered, once.
    const bool joined = source != op.operands[i];
    if (joined && std::find(sources.begin(), sources.end(), source) != sources.end()) continue;
    if (joined) sources.push_back(source);
    seconds += recompute_.best(source, needed(op, rule, i, assignment), op.block).seconds;
  }
  const AtomMask manual = manual_axes_around(fn_, op.block, atoms_);
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (is_free_source(fn_, op.results[i])) continue;
    seconds += costs_.seconds(fn_.type(op.results[i]), produced(rule, i, assignment),
                              placement_(op.results[i]), manual);
  }
  return seconds + exchanges_of(op, rule, assignment) +
         op_seconds(fn_, op, rule, assignment, atoms_, cost_);
}

std::vector<FactorAssignment> PlacementChoice::candidates(const Op& op,
                                                          const FactorRule& rule) const {
  struct Source {
    FactorAssignment axes;
    int64_t bytes;
  };
  std::vector<Source> sources, moved;
  const auto add_source = [&](const TensorFactors& tensor, ValueId value) {
    const Placement now = placement_(value);
    if (now.is_replicated()) return;
    const int64_t bytes = fn_.type(value).num_bytes();
    FactorAssignment axes = project(rule, tensor, now, atoms_);
    if (auto other = with_moved_axes(rule, tensor, now, axes, atoms_)) {
      moved.push_back({std::move(*other), bytes});
    }
    if (axes.mask() != 0) sources.push_back({std::move(axes), bytes});
  };
  for (size_t i = 0; i < op.results.size(); ++i) add_source(rule.results[i], op.results[i]);
  for (size_t i = 0; i < op.operands.size(); ++i) add_source(rule.operands[i], op.operands[i]);
  std::stable_sort(sources.begin(), sources.end(),
                   [](const Source& a, const Source& b) { return a.bytes > b.bytes; });

  std::vector<FactorAssignment> found;
  const auto add = [&](FactorAssignment candidate) {
    normalise(rule, candidate, atoms_);
    if (std::find(found.begin(), found.end(), candidate) == found.end()) {
      found.push_back(std::move(candidate));
    }
  };
  // Each merged with the others in turn, those of large tensors first.
  const auto add_merged = [&](const Source& first) {
    FactorAssignment candidate = first.axes;
    for (const Source& other : sources) merge(rule, candidate, other.axes);
    add(std::move(candidate));
  };
  for (const Source& first : sources) add_merged(first);
  // Rows may be gathered rather than exchanged.
  for (size_t i = 0, count = found.size(); i < count; ++i) {
    add(without_exchanges(rule, found[i]));
  }
  if (!moved.empty()) add({std::vector<AtomList>(rule.factors.size())});
  for (const Source& first : moved) add_merged(first);
  return found;
}

FactorAssignment PlacementChoice::choose(const Op& op, const FactorRule& rule) {
  std::vector<FactorAssignment> found = candidates(op, rule);
  const FactorAssignment whole{std::vector<AtomList>(rule.factors.size())};
  if (found.empty()) return whole;
  // Where a result would be partial, every device may as well do all of it on gathered operands;
  // not where that multiplies much work, nor in a loop, out of which a reduction may move.
  const bool cheap = op.code != OpCode::kDotGeneral && op.code != OpCode::kConvolution;
  if (cheap && op.block == fn_.body() && !partial_axes(rule, found[0]).empty() &&
      std::find(found.begin(), found.end(), whole) == found.end()) {
    found.push_back(whole);
  }
  if (found.size() == 1) return found[0];
  recompute_.clear();
  size_t best = 0;
  double best_cost = cost_of(op, rule, found[0]);
  for (size_t i = 1; i < found.size(); ++i) {
    const double cost = cost_of(op, rule, found[i]);
    if (cost < best_cost) {
      best_cost = cost;
      best = i;
    }
  }
  return found[best];
}

}  // namespace spmd
