#include "passes/partition/reshard_costs.h"

#include <numeric>

namespace spmd {

Dims rounded_up(const Dims& shape, const Placement& from, const Placement& to,
                const AtomTable& atoms) {
  Dims rounded = shape;
  for (size_t d = 0; d < rounded.size(); ++d) {
    const int64_t unit = std::lcm(atoms.extent(from.dims[d]), atoms.extent(to.dims[d]));
    rounded[d] = (rounded[d] + unit - 1) / unit * unit;
  }
  return rounded;
}

namespace {

std::string key_of(const TensorType& type, const Placement& from, const Placement& to,
                   AtomMask manual) {
  std::string key(reinterpret_cast<const char*>(type.shape.data()),
                  type.shape.size() * sizeof(int64_t));
  key.push_back(static_cast<char>(byte_size(type.dtype)));
  key.append(reinterpret_cast<const char*>(&manual), sizeof manual);
  for (const Placement* placement : {&from, &to}) {
    for (const AtomList& dim : placement->dims) {
      key.append(dim.begin(), dim.end());
      key.push_back('\xff');
    }
    key.append(placement->partial.begin(), placement->partial.end());
    if (!placement->partial.empty()) key.push_back(static_cast<char>(placement->reduction));
    key.push_back('\xfe');
  }
  return key;
}

Sharding with_manual(const Placement& placement, AtomMask manual, const AtomTable& atoms) {
  AtomList list;
  for (size_t a = 0; a < atoms.size(); ++a) {
    if (manual >> a & 1) list.push_back(static_cast<Atom>(a));
  }
  Sharding sharding = to_sharding(placement, atoms);
  sharding.manual = atoms.to_axes(list);
  return sharding;
}

}  // namespace

const ReshardPlan& ReshardCosts::plan(const TensorType& type, const Placement& from,
                                      const Placement& to, AtomMask manual) {
  const auto [entry, added] = plans_.try_emplace(key_of(type, from, to, manual));
  if (added) {
    entry->second = plan_reshard(rounded_up(type.shape, from, to, atoms_), byte_size(type.dtype),
                                 with_manual(from, manual, atoms_), with_manual(to, manual, atoms_),
                                 atoms_.mesh(), cost_);
  }
  return entry->second;
}

double ReshardCosts::seconds(const TensorType& type, const Placement& from, const Placement& to,
                             AtomMask manual) {
  if (from == to || from.is_replicated()) return 0;
  return plan(type, from, to, manual).seconds;
}

AtomMask manual_axes_around(const Function& fn, BlockId block, const AtomTable& atoms) {
  AtomMask manual = 0;
  for (OpId around; (around = fn.block(block).parent) != OpId::kNone; block = fn.op(around).block) {
    if (fn.op(around).code != OpCode::kManualComputation) continue;
    manual |= mask_of(atoms.to_atoms(fn.op(around).as<ManualComputationAttrs>().manual_axes));
  }
  return manual;
}

AtomMask manual_axes_around(const Function& fn, ValueId value, const AtomTable& atoms) {
  const Op* op = fn.def(value);
  return manual_axes_around(fn, op != nullptr ? op->block : fn.value(value).block, atoms);
}

}  // namespace spmd
