// Shardings in atoms: dense small numbers for the prime factors of a mesh's axes.
//
// Algorithms that search over shardings work on these; sharding/spec has the public form. Two atoms
// are equal or disjoint, so lists of atoms need no sub-axis algebra.
#pragma once

#include <cstdint>
#include <vector>

#include "sharding/spec/sharding.h"
#include "support/inline_vector.h"

namespace spmd {

using Atom = uint8_t;                     // index into AtomTable::atoms()
using AtomList = InlineVector<Atom, 16>;  // major to minor
using AtomMask = uint64_t;

// The atoms of one mesh; axes of size 1 have none. Throws UserError for meshes of more than 64
// atoms (more than 2^64 devices at least).
class AtomTable {
 public:
  explicit AtomTable(const Mesh& mesh);

  const Mesh& mesh() const { return mesh_; }
  size_t size() const { return atoms_.size(); }
  int64_t extent(Atom atom) const { return extents_[atom]; }
  int64_t extent(const AtomList& atoms) const;

  AtomList to_atoms(const AxisList& axes) const;
  AxisList to_axes(const AtomList& atoms) const;

 private:
  const Mesh& mesh_;
  AxisList atoms_;
  std::vector<int64_t> extents_;
};

inline AtomMask mask_of(const AtomList& atoms) {
  AtomMask mask = 0;
  for (Atom atom : atoms) mask |= AtomMask{1} << atom;
  return mask;
}

// Placement of one tensor, in atoms.
struct Placement {
  std::vector<AtomList> dims;
  AtomList partial;  // sorted; unreduced axes
  ReductionKind reduction = ReductionKind::kSum;

  static Placement replicated(int64_t rank) {
    Placement placement;
    placement.dims.resize(static_cast<size_t>(rank));
    return placement;
  }
  bool is_replicated() const;
  AtomMask mask() const;  // of dims and partial
  bool operator==(const Placement& other) const {
    return dims == other.dims && partial == other.partial &&
           (partial.empty() || reduction == other.reduction);
  }
};

Placement to_placement(const Sharding& sharding, const AtomTable& atoms);
Sharding to_sharding(const Placement& placement, const AtomTable& atoms);

// "[{"x"}, {}]"
std::string to_string(const Placement& placement, const AtomTable& atoms);

}  // namespace spmd
