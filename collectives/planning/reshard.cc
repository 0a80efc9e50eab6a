#include "collectives/planning/reshard.h"

#include <algorithm>

#include "collectives/planning/reshard_problem.h"
#include "collectives/planning/reshard_search.h"
#include "support/error.h"

namespace spmd {

namespace {

using Kind = ReshardStep::Kind;
using reshard::Layout;
using reshard::Move;
using reshard::Problem;
using reshard::UnitId;

bool is_full_rematerialization(const std::vector<ReshardStep>& steps) {
  std::vector<bool> emptied(steps.empty() ? 0 : steps[0].result.dims.size(), false);
  for (const ReshardStep& step : steps) {
    const size_t dim = static_cast<size_t>(step.dim);
    if (step.kind == Kind::kAllGather && step.result.dims[dim].axes.empty()) emptied[dim] = true;
    if (step.kind == Kind::kSlice && emptied[dim]) return true;
  }
  return false;
}

// Turns moves of units into steps, and counts what they cost.
class PlanBuilder {
 public:
  PlanBuilder(const Problem& problem, const Sharding& from, const Sharding& to, const Mesh& mesh,
              const CostModel& cost)
      : problem_(problem), from_(from), to_(to), mesh_(mesh), cost_(cost), layout_(problem.source) {
    for (size_t u = 0; u < problem.units.size(); ++u) {
      if (problem.units[u].source == reshard::kUnreduced) {
        unreduced_.push_back(static_cast<UnitId>(u));
      }
    }
  }

  ReshardPlan build(const std::vector<Move>& moves) {
    for (const Move& move : moves) add(move);
    plan_.full_rematerialization = is_full_rematerialization(plan_.steps);
    return std::move(plan_);
  }

 private:
  int64_t size_of(const std::vector<UnitId>& units) const {
    int64_t size = 1;
    for (UnitId unit : units) size *= problem_.units[unit].size;
    return size;
  }

  int64_t local_bytes() const {
    int64_t shards = 1;
    for (const auto& list : layout_) shards *= size_of(list);
    return problem_.bytes / shards;
  }

  AxisList atoms_of(const std::vector<UnitId>& units) const {
    AxisList atoms;
    for (UnitId unit : units) {
      const AxisList& more = problem_.units[unit].atoms;
      atoms.insert(atoms.end(), more.begin(), more.end());
    }
    return atoms;
  }

  void drop_suffix(size_t dim, size_t count) { layout_[dim].resize(layout_[dim].size() - count); }

  void append(size_t dim, const std::vector<UnitId>& units) {
    layout_[dim].insert(layout_[dim].end(), units.begin(), units.end());
  }

  void reduce(const std::vector<UnitId>& units) {
    std::erase_if(unreduced_, [&](UnitId unit) {
      return std::find(units.begin(), units.end(), unit) != units.end();
    });
  }

  void charge(CollectiveKind kind, int64_t bytes, int64_t ranks) {
    plan_.seconds += cost_.collective_seconds(kind, bytes, ranks);
    plan_.bytes_sent += bytes_sent(kind, bytes, ranks);
  }

  void apply(const Move& move) {
    const int64_t local = local_bytes();
    const int64_t ranks = size_of(move.units);
    const size_t dim = static_cast<size_t>(move.dim);
    switch (move.kind) {
      case Kind::kAllGather:
        drop_suffix(dim, move.units.size());
        return charge(CollectiveKind::kAllGather, local * ranks, ranks);
      case Kind::kSlice:
        append(dim, move.units);
        return;
      case Kind::kAllToAll:
        drop_suffix(dim, move.units.size());
        append(static_cast<size_t>(move.to_dim), move.units);
        return charge(CollectiveKind::kAllToAll, local, ranks);
      case Kind::kPermute:
        layout_ = move.layout;
        return charge(CollectiveKind::kPermute, local, ranks);
      case Kind::kAllReduce:
        reduce(move.units);
        return charge(CollectiveKind::kAllReduce, local, ranks);
      case Kind::kReduceScatter:
        reduce(move.units);
        append(dim, move.units);
        return charge(CollectiveKind::kReduceScatter, local, ranks);
      case Kind::kMakePartial:
        unreduced_.insert(unreduced_.end(), move.units.begin(), move.units.end());
        return;
    }
  }

  Sharding placement() const {
    Sharding sharding = Sharding::replicate(static_cast<int64_t>(problem_.fixed.size()));
    for (size_t d = 0; d < problem_.fixed.size(); ++d) sharding.dims[d].axes = problem_.fixed[d];
    for (size_t d = 0; d < layout_.size(); ++d) {
      AxisList& axes = sharding.dims[static_cast<size_t>(problem_.dims[d])].axes;
      for (const AxisRef& atom : atoms_of(layout_[d])) axes.push_back(atom);
    }
    sharding.unreduced = problem_.fixed_unreduced;
    for (const AxisRef& atom : atoms_of(unreduced_)) sharding.unreduced.push_back(atom);
    sharding.reduction = from_.unreduced.empty() ? to_.reduction : from_.reduction;
    sharding.manual = reshard::proper_atoms(from_.manual, mesh_);
    return sharding;
  }

  // Slices that follow each other in one dimension are one step.
  bool extends_last(const Move& move) const {
    if (plan_.steps.empty() || plan_.steps.back().kind != move.kind) return false;
    if (move.kind == Kind::kMakePartial) return true;
    return move.kind == Kind::kSlice &&
           plan_.steps.back().dim == problem_.dims[static_cast<size_t>(move.dim)];
  }

  void add(const Move& move) {
    const int64_t before = local_bytes();
    apply(move);
    plan_.peak_bytes = std::max({plan_.peak_bytes, before, local_bytes()});
    const AxisList atoms = atoms_of(move.units);
    if (extends_last(move)) {
      ReshardStep& last = plan_.steps.back();
      last.axes.insert(last.axes.end(), atoms.begin(), atoms.end());
      last.result = placement();
      return;
    }
    const auto tensor_dim = [&](int dim) {
      return problem_.dims.empty() ? 0 : problem_.dims[static_cast<size_t>(dim)];
    };
    plan_.steps.push_back(
        {move.kind, atoms, tensor_dim(move.dim), tensor_dim(move.to_dim), placement()});
  }

  const Problem& problem_;
  const Sharding& from_;
  const Sharding& to_;
  const Mesh& mesh_;
  const CostModel& cost_;
  Layout layout_;
  std::vector<UnitId> unreduced_;
  ReshardPlan plan_;
};

bool conflicts_with(const AxisRef& atom, const AxisList& others, const Mesh& mesh) {
  return std::any_of(others.begin(), others.end(),
                     [&](const AxisRef& other) { return reshard::conflicts(atom, other, mesh); });
}

// `from` without what no path can carry over to `to`: atoms that factor their axis in another way
// (with what is minor to them), and partial values of another reduction.
Sharding convertible_part(const Sharding& from, const Sharding& to, const Mesh& mesh) {
  AxisList others = reshard::proper_atoms(to.unreduced, mesh);
  for (const DimSharding& dim : to.dims) {
    for (const AxisRef& atom : reshard::proper_atoms(dim.axes, mesh)) others.push_back(atom);
  }
  Sharding part = from;
  for (DimSharding& dim : part.dims) {
    dim.axes = reshard::proper_atoms(dim.axes, mesh);
    const auto first = std::find_if(dim.axes.begin(), dim.axes.end(), [&](const AxisRef& atom) {
      return conflicts_with(atom, others, mesh);
    });
    dim.axes.erase(first, dim.axes.end());
  }
  part.unreduced = reshard::proper_atoms(from.unreduced, mesh);
  if (!to.unreduced.empty() && to.reduction != from.reduction) part.unreduced.clear();
  std::erase_if(part.unreduced,
                [&](const AxisRef& atom) { return conflicts_with(atom, others, mesh); });
  return part;
}

bool places_less(const Sharding& part, const Sharding& from, const Mesh& mesh) {
  for (size_t d = 0; d < from.dims.size(); ++d) {
    if (part.dims[d].axes != reshard::proper_atoms(from.dims[d].axes, mesh)) return true;
  }
  return part.unreduced != reshard::proper_atoms(from.unreduced, mesh);
}

ReshardPlan joined(ReshardPlan first, ReshardPlan second) {
  first.seconds += second.seconds;
  first.bytes_sent += second.bytes_sent;
  first.peak_bytes = std::max(first.peak_bytes, second.peak_bytes);
  for (ReshardStep& step : second.steps) first.steps.push_back(std::move(step));
  first.full_rematerialization = is_full_rematerialization(first.steps);
  return first;
}

bool is_whole(const Sharding& sharding, const Mesh& mesh) {
  return std::all_of(sharding.dims.begin(), sharding.dims.end(), [&](const DimSharding& dim) {
    return reshard::proper_atoms(dim.axes, mesh).empty();
  });
}

// Searches for plans between two compatible shardings.
class Planner {
 public:
  Planner(const std::vector<int64_t>& shape, int64_t element_bytes, const Sharding& from,
          const Sharding& to, const Mesh& mesh, const CostModel& cost)
      : shape_(shape),
        element_bytes_(element_bytes),
        from_(from),
        to_(to),
        mesh_(mesh),
        cost_(cost),
        whole_(reshard::make_problem(shape, element_bytes, from, to, mesh)) {}

  ReshardPlan run() {
    if (whole_.units.empty()) return {};
    std::optional<ReshardPlan> found = search(whole_, {});
    ReshardPlan plan = found ? *std::move(found) : build(whole_, reshard::plain_moves(whole_));
    // What spares save in one collective they cost in being gathered, unless the block is smaller
    // then.
    if (plan.steps.size() > 1) {
      with_spares_ = reshard::make_problem(shape_, element_bytes_, from_, to_, mesh_, true);
      take_if(search(*with_spares_, {}), plan,
              [&](const ReshardPlan& other) { return other.seconds < plan.seconds; });
    }
    if (plan.full_rematerialization) {
      take_if(search(widest(), {.avoid_rematerialization = true}), plan,
              [&](const ReshardPlan& other) { return other.bytes_sent < plan.bytes_sent; });
    }
    const bool avoidable = !is_whole(from_, mesh_) && !is_whole(to_, mesh_);
    if (avoidable && plan.peak_bytes >= whole_.bytes && reshard::may_be_whole(whole_)) {
      take_if(search(widest(), {.below_full_size = true}), plan,
              [&](const ReshardPlan& other) { return other.peak_bytes < plan.peak_bytes; });
    }
    return plan;
  }

 private:
  const Problem& widest() const { return with_spares_ ? *with_spares_ : whole_; }

  ReshardPlan build(const Problem& problem, const std::vector<Move>& moves) const {
    return PlanBuilder(problem, from_, to_, mesh_, cost_).build(moves);
  }

  template <typename Better>
  static void take_if(std::optional<ReshardPlan> other, ReshardPlan& plan, const Better& better) {
    if (other && better(*other)) plan = *std::move(other);
  }

  // First with units that can be exchanged, then with whole ones, then straight to the target.
  std::optional<ReshardPlan> search(const Problem& problem, reshard::SearchLimits limits) const {
    Problem split = problem;
    const bool was_split = reshard::split_units(split, mesh_);
    // Few units have few states, of which most may have to be looked at.
    const int ways = limits.max_ways;
    if (split.units.size() <= 5) limits.max_ways *= 5;
    if (auto moves = reshard::cheapest_moves(split, cost_, limits)) return build(split, *moves);
    limits.max_ways = ways;
    for (bool direct : {false, true}) {
      limits.direct = direct;
      if (!direct && !was_split) continue;
      if (auto moves = reshard::cheapest_moves(problem, cost_, limits))
        return build(problem, *moves);
    }
    return std::nullopt;
  }

  const std::vector<int64_t>& shape_;
  const int64_t element_bytes_;
  const Sharding& from_;
  const Sharding& to_;
  const Mesh& mesh_;
  const CostModel& cost_;
  const Problem whole_;
  std::optional<Problem> with_spares_;
};

}  // namespace

ReshardPlan plan_reshard(const std::vector<int64_t>& shape, int64_t element_bytes,
                         const Sharding& from, const Sharding& to, const Mesh& mesh,
                         const CostModel& cost) {
  SPMD_CHECK(from.dims.size() == shape.size() && to.dims.size() == shape.size());
  const Sharding part = convertible_part(from, to, mesh);
  if (places_less(part, from, mesh)) {
    return joined(plan_reshard(shape, element_bytes, from, part, mesh, cost),
                  plan_reshard(shape, element_bytes, part, to, mesh, cost));
  }

  return Planner(shape, element_bytes, from, to, mesh, cost).run();
}

}  // namespace spmd
