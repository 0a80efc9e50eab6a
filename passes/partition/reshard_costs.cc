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

std::string key_of(const TensorType& type, const Placement& from, const Placement& to) {
  std::string key(reinterpret_cast<const char*>(type.shape.data()),
                  type.shape.size() * sizeof(int64_t));
  key.push_back(static_cast<char>(byte_size(type.dtype)));
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

}  // namespace

const ReshardPlan& ReshardCosts::plan(const TensorType& type, const Placement& from,
                                      const Placement& to) {
  const auto [entry, added] = plans_.try_emplace(key_of(type, from, to));
  if (added) {
    entry->second =
        plan_reshard(rounded_up(type.shape, from, to, atoms_), byte_size(type.dtype),
                     to_sharding(from, atoms_), to_sharding(to, atoms_), atoms_.mesh(), cost_);
  }
  return entry->second;
}

double ReshardCosts::seconds(const TensorType& type, const Placement& from, const Placement& to) {
  if (from == to || from.is_replicated()) return 0;
  return plan(type, from, to).seconds;
}

}  // namespace spmd
