// Shardings of many values, of which most are alike: equal ones are one object.
#pragma once

#include <string>
#include <unordered_map>

#include "sharding/atoms.h"

namespace spmd {

class ShardingPool {
 public:
  explicit ShardingPool(const AtomTable& atoms) : atoms_(atoms) {}

  // What to_sharding() gives.
  ShardingRef of(const Placement& placement);

 private:
  const AtomTable& atoms_;
  std::unordered_map<std::string, ShardingRef> by_placement_;
};

}  // namespace spmd
