#include "sharding/sharding_pool.h"

namespace spmd {
namespace {

// Different for different placements: lists of atoms, of which there are at most 64, and their
// ends.
std::string key_of(const Placement& placement) {
  constexpr char kEnd = 'e';  // 101
  std::string key;
  for (const AtomList& dim : placement.dims) {
    for (Atom atom : dim) key.push_back(static_cast<char>(atom));
    key.push_back(kEnd);
  }
  for (Atom atom : placement.partial) key.push_back(static_cast<char>(atom));
  key.push_back(static_cast<char>(placement.reduction));
  return key;
}

}  // namespace

ShardingRef ShardingPool::of(const Placement& placement) {
  ShardingRef& sharding = by_placement_[key_of(placement)];
  if (sharding == nullptr) {
    sharding = std::make_shared<const Sharding>(to_sharding(placement, atoms_));
  }
  return sharding;
}

}  // namespace spmd
