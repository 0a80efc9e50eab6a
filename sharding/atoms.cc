#include "sharding/atoms.h"

#include <algorithm>

#include "support/error.h"

namespace spmd {

AtomTable::AtomTable(const Mesh& mesh) : mesh_(mesh) {
  for (const AxisRef& atom : mesh_atoms(mesh)) {
    if (atom.size_in(mesh) == 1) continue;
    atoms_.push_back(atom);
    extents_.push_back(atom.size_in(mesh));
  }
  if (atoms_.size() > 64) {
    throw UserError("mesh", fmt::format("{} has more than 64 prime factors", mesh.to_string()),
                    "choose smaller sizes");
  }
}

int64_t AtomTable::extent(const AtomList& atoms) const {
  int64_t product = 1;
  for (Atom atom : atoms) product *= extents_[atom];
  return product;
}

AtomList AtomTable::to_atoms(const AxisList& axes) const {
  AtomList list;
  const auto append = [&](const AxisRef& ref) {
    const auto found = std::find(atoms_.begin(), atoms_.end(), ref);
    if (found == atoms_.end()) return false;
    list.push_back(static_cast<Atom>(found - atoms_.begin()));
    return true;
  };
  for (const AxisRef& axis : axes) {
    if (append(axis)) continue;
    if (axis.is_full()) {  // its atoms, which stand together
      for (const AxisRef& atom : atoms_) {
        if (atom.axis == axis.axis) append(atom);
      }
      continue;
    }
    for (const AxisRef& ref : spmd::to_atoms({axis}, mesh_)) {
      if (ref.size_in(mesh_) == 1) continue;
      SPMD_CHECK(append(ref), "unknown atom");
    }
  }
  return list;
}

AxisList AtomTable::to_axes(const AtomList& atoms) const {
  AxisList axes;
  axes.reserve(atoms.size());
  for (Atom atom : atoms) axes.push_back(atoms_[atom]);
  return from_atoms(axes, mesh_);
}

bool Placement::is_replicated() const { return mask() == 0; }

AtomMask Placement::mask() const {
  AtomMask mask = mask_of(partial);
  for (const AtomList& dim : dims) mask |= mask_of(dim);
  return mask;
}

Placement to_placement(const Sharding& sharding, const AtomTable& atoms) {
  Placement placement;
  placement.dims.reserve(sharding.dims.size());
  for (const DimSharding& dim : sharding.dims) placement.dims.push_back(atoms.to_atoms(dim.axes));
  placement.partial = atoms.to_atoms(sharding.unreduced);
  std::sort(placement.partial.begin(), placement.partial.end());
  placement.reduction = sharding.reduction;
  return placement;
}

Sharding to_sharding(const Placement& placement, const AtomTable& atoms) {
  Sharding sharding;
  sharding.dims.reserve(placement.dims.size());
  for (const AtomList& dim : placement.dims) {
    sharding.dims.push_back({atoms.to_axes(dim), false, std::nullopt});
  }
  sharding.unreduced = atoms.to_axes(placement.partial);
  sharding.reduction = placement.reduction;
  return sharding;
}

std::string to_string(const Placement& placement, const AtomTable& atoms) {
  return to_sharding(placement, atoms).to_string(atoms.mesh());
}

}  // namespace spmd
