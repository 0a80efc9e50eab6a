#include "collectives/planning/reshard_problem.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace spmd::reshard {

namespace {

// Splitting stops here: more units make the search slower than the better plans are worth.
constexpr size_t kMaxSplitUnits = 8;
// Up to so many, every atom may be a unit.
constexpr size_t kMaxApart = 4;

struct Atom {
  AxisRef axis;
  int source = kReplicated, target = kReplicated;
  int source_position = 0, target_position = 0;
};

Atom& find_or_add(std::vector<Atom>& atoms, const AxisRef& axis) {
  for (Atom& atom : atoms) {
    if (atom.axis == axis) return atom;
  }
  atoms.emplace_back();
  atoms.back().axis = axis;
  return atoms.back();
}

void note_places(const AxisList& axes, size_t first, int place, bool is_source,
                 std::vector<Atom>& atoms) {
  for (size_t i = first; i < axes.size(); ++i) {
    Atom& atom = find_or_add(atoms, axes[i]);
    (is_source ? atom.source : atom.target) = place;
    (is_source ? atom.source_position : atom.target_position) = static_cast<int>(i);
  }
}

// In the order in which neighbours may be joined: along each source dimension; what has none, along
// each target dimension.
void sort_for_joining(std::vector<Atom>& atoms) {
  const auto key = [](const Atom& atom) {
    const bool sharded = atom.source >= 0;
    return std::tuple(!sharded, atom.source, sharded ? atom.source_position : atom.target,
                      sharded ? 0 : atom.target_position);
  };
  std::stable_sort(atoms.begin(), atoms.end(),
                   [&](const Atom& a, const Atom& b) { return key(a) < key(b); });
}

bool travels_with(const Unit& unit, const Atom& atom) {
  if (unit.source != atom.source || unit.target != atom.target) return false;
  return atom.target < 0 ||
         atom.target_position == unit.target_position + static_cast<int>(unit.atoms.size());
}

// `apart`: every atom is a unit of its own.
void join(const std::vector<Atom>& atoms, const Mesh& mesh, bool apart, std::vector<Unit>& units) {
  for (const Atom& atom : atoms) {
    if (apart || units.empty() || !travels_with(units.back(), atom)) {
      Unit unit;
      unit.source = atom.source;
      unit.target = atom.target;
      unit.source_position = atom.source_position;
      unit.target_position = atom.target_position;
      units.push_back(std::move(unit));
    }
    units.back().atoms.push_back(atom.axis);
    units.back().size *= atom.axis.size_in(mesh);
  }
}

void lay_out(Problem& problem) {
  problem.source.assign(problem.dims.size(), {});
  problem.target.assign(problem.dims.size(), {});
  for (size_t i = 0; i < problem.units.size(); ++i) {
    const Unit& unit = problem.units[i];
    const UnitId id = static_cast<UnitId>(i);
    if (unit.source >= 0) problem.source[static_cast<size_t>(unit.source)].push_back(id);
    if (unit.target >= 0) problem.target[static_cast<size_t>(unit.target)].push_back(id);
  }
  for (auto& list : problem.source) {
    std::sort(list.begin(), list.end(), [&](UnitId a, UnitId b) {
      return problem.units[a].source_position < problem.units[b].source_position;
    });
  }
  for (auto& list : problem.target) {
    std::sort(list.begin(), list.end(), [&](UnitId a, UnitId b) {
      return problem.units[a].target_position < problem.units[b].target_position;
    });
  }
}

bool contains(const AxisList& axes, const AxisRef& axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

void note_unreduced(const Sharding& from, const Sharding& to, const Mesh& mesh,
                    std::vector<Atom>& atoms, Problem& problem) {
  const AxisList source = proper_atoms(from.unreduced, mesh);
  const AxisList target = proper_atoms(to.unreduced, mesh);
  for (const AxisRef& axis : source) {
    if (contains(target, axis)) {
      problem.fixed_unreduced.push_back(axis);
    } else {
      find_or_add(atoms, axis).source = kUnreduced;
    }
  }
  for (const AxisRef& axis : target) {
    if (!contains(source, axis)) find_or_add(atoms, axis).target = kUnreduced;
  }
}

bool is_used(int axis, const Sharding& sharding) {
  const auto names = [axis](const AxisList& axes) {
    return std::any_of(axes.begin(), axes.end(),
                       [axis](const AxisRef& ref) { return ref.axis == axis; });
  };
  return names(sharding.unreduced) || names(sharding.manual) ||
         std::any_of(sharding.dims.begin(), sharding.dims.end(),
                     [&](const DimSharding& dim) { return names(dim.axes); });
}

// Axes along which the tensor is replicated before and after: cutting it over them makes what comes
// next cheaper, and is taken back in the end.
void add_spare_units(const Sharding& from, const Sharding& to, const Mesh& mesh,
                     std::vector<Unit>& units) {
  constexpr size_t kMaxSpares = 2;
  size_t spares = 0;
  for (int axis = 0; axis < static_cast<int>(mesh.num_axes()); ++axis) {
    if (is_used(axis, from) || is_used(axis, to)) continue;
    for (const AxisRef& atom : proper_atoms({{axis, 1, 0}}, mesh)) {
      if (spares++ == kMaxSpares) return;
      Unit unit;
      unit.atoms = {atom};
      unit.size = atom.size_in(mesh);
      units.push_back(std::move(unit));
    }
  }
}

// Units may be parked in a dimension in which nothing else changes, to make a reduction cheaper or
// to make way for others: the largest is enough.
void add_spare_dim(const std::vector<int64_t>& shape, const Mesh& mesh, Problem& problem) {
  int64_t spare = -1, largest = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t dim = static_cast<int64_t>(d);
    if (std::find(problem.dims.begin(), problem.dims.end(), dim) != problem.dims.end()) continue;
    const int64_t extent = shape[d] / axes_size(problem.fixed[d], mesh);
    if (extent <= largest) continue;
    largest = extent;
    spare = dim;
  }
  if (spare < 0) return;
  problem.dims.push_back(spare);
  problem.extents.push_back(largest);
}

// The first run of neighbouring atoms with this product, the major-most preferred: [first, last).
bool find_run(const AxisList& atoms, int64_t product, const Mesh& mesh, size_t& first,
              size_t& last) {
  for (first = 0; first < atoms.size(); ++first) {
    int64_t size = 1;
    for (last = first; last < atoms.size() && size < product;) size *= atoms[last++].size_in(mesh);
    if (size == product) return true;
  }
  return false;
}

Unit part_of(const Unit& unit, size_t first, size_t last, const Mesh& mesh) {
  Unit part = unit;
  part.atoms.assign(unit.atoms.begin() + static_cast<ptrdiff_t>(first),
                    unit.atoms.begin() + static_cast<ptrdiff_t>(last));
  part.size = axes_size(part.atoms, mesh);
  part.source_position += static_cast<int>(first);
  part.target_position += static_cast<int>(first);
  return part;
}

bool split_unit(std::vector<Unit>& units, size_t index, int64_t size, const Mesh& mesh) {
  const Unit unit = units[index];
  size_t first = 0, last = 0;
  if (!find_run(unit.atoms, size, mesh, first, last)) return false;
  units[index] = part_of(unit, first, last, mesh);
  if (first > 0) units.push_back(part_of(unit, 0, first, mesh));
  if (last < unit.atoms.size()) units.push_back(part_of(unit, last, unit.atoms.size(), mesh));
  return true;
}

// One enters a dimension that the other leaves.
bool may_exchange(const Unit& a, const Unit& b) {
  return (a.source >= 0 && a.source == b.target) || (a.target >= 0 && a.target == b.source);
}

// Nothing is gained by splitting a unit that can be exchanged as it is.
bool has_equal_partner(const std::vector<Unit>& units, const Unit& unit) {
  return std::any_of(units.begin(), units.end(), [&](const Unit& other) {
    return &other != &unit && other.size == unit.size && may_exchange(unit, other);
  });
}

bool split_once(std::vector<Unit>& units, const Mesh& mesh) {
  for (size_t i = 0; i < units.size(); ++i) {
    for (size_t j = 0; j < units.size(); ++j) {
      if (i == j || !may_exchange(units[i], units[j])) continue;
      if (has_equal_partner(units, units[i]) || has_equal_partner(units, units[j])) continue;
      const int64_t common = std::gcd(units[i].size, units[j].size);
      if (common > 1 && common < units[i].size && split_unit(units, i, common, mesh)) return true;
    }
  }
  return false;
}

}  // namespace

AxisList proper_atoms(const AxisList& axes, const Mesh& mesh) {
  AxisList atoms = to_atoms(axes, mesh);
  std::erase_if(atoms, [&](const AxisRef& atom) { return atom.size_in(mesh) == 1; });
  return atoms;
}

bool conflicts(const AxisRef& a, const AxisRef& b, const Mesh& mesh) {
  return a != b && overlaps(a, b, mesh);
}

Problem make_problem(const std::vector<int64_t>& shape, int64_t element_bytes, const Sharding& from,
                     const Sharding& to, const Mesh& mesh, bool spares) {
  Problem problem;
  problem.bytes = element_bytes;
  std::vector<Atom> atoms;
  for (size_t d = 0; d < shape.size(); ++d) {
    const AxisList source = proper_atoms(from.dims[d].axes, mesh);
    const AxisList target = proper_atoms(to.dims[d].axes, mesh);
    size_t same = 0;
    while (same < std::min(source.size(), target.size()) && source[same] == target[same]) ++same;
    problem.fixed.emplace_back(source.begin(), source.begin() + static_cast<ptrdiff_t>(same));
    const int64_t extent = shape[d] / axes_size(problem.fixed.back(), mesh);
    problem.bytes *= extent;
    if (same == source.size() && same == target.size()) continue;
    const int place = static_cast<int>(problem.dims.size());
    problem.dims.push_back(static_cast<int64_t>(d));
    problem.extents.push_back(extent);
    note_places(source, same, place, true, atoms);
    note_places(target, same, place, false, atoms);
  }
  note_unreduced(from, to, mesh, atoms, problem);
  sort_for_joining(atoms);
  join(atoms, mesh, spares && atoms.size() <= kMaxApart, problem.units);
  const bool reduces = std::any_of(problem.units.begin(), problem.units.end(),
                                   [](const Unit& unit) { return unit.source == kUnreduced; });
  if ((reduces || spares) && problem.units.size() > 1) add_spare_dim(shape, mesh, problem);
  if (spares) add_spare_units(from, to, mesh, problem.units);
  lay_out(problem);
  return problem;
}

bool may_be_whole(const Problem& problem) {
  return std::all_of(problem.fixed.begin(), problem.fixed.end(),
                     [](const AxisList& axes) { return axes.empty(); });
}

bool split_units(Problem& problem, const Mesh& mesh) {
  bool split = false;
  while (problem.units.size() < kMaxSplitUnits && split_once(problem.units, mesh)) split = true;
  if (split) lay_out(problem);
  return split;
}

}  // namespace spmd::reshard
