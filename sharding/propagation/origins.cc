#include "sharding/propagation/origins.h"

#include <algorithm>
#include <unordered_map>

#include "ir/describe.h"

namespace spmd {

void OriginTable::add_fixed(std::string annotation) {
  fixed_.push_back(std::move(annotation));
  steps_.emplace_back();
}

void OriginTable::record(uint32_t state, uint32_t source, OpId op) { steps_[state] = {source, op}; }

// For every state, the one whose axes it has: sources had theirs earlier, so each chain ends. A
// chain may be as long as the program and is walked once.
std::vector<uint32_t> OriginTable::roots() const {
  std::vector<uint32_t> roots(steps_.size(), kOwn), chain;
  for (uint32_t first = 0; first < roots.size(); ++first) {
    uint32_t state = first;
    while (roots[state] == kOwn && steps_[state].source != kOwn) {
      chain.push_back(state);
      state = steps_[state].source;
    }
    if (roots[state] == kOwn) roots[state] = state;
    for (uint32_t on_the_way : chain) roots[on_the_way] = roots[state];
    chain.clear();
  }
  return roots;
}

std::string OriginTable::annotation_of(uint32_t state) const {
  if (state >= fn_.num_value_ids()) return fixed_[state - fn_.num_value_ids()];
  const auto value = static_cast<ValueId>(state);
  if (const Op* op = fn_.def(value)) return place_of(*op);
  const auto& arguments = fn_.arguments();
  const auto found = std::find(arguments.begin(), arguments.end(), value);
  if (found == arguments.end()) return "an argument of a region";
  return name_of_argument(fn_, static_cast<size_t>(found - arguments.begin()));
}

ShardingOrigins OriginTable::trace() const {
  ShardingOrigins origins(fn_.num_value_ids());
  const std::vector<uint32_t> roots = this->roots();
  std::unordered_map<uint32_t, std::string> annotations;
  for (uint32_t state = 0; state < origins.size(); ++state) {
    const ShardingRef& sharding = fn_.value(static_cast<ValueId>(state)).sharding;
    if (sharding == nullptr || sharding->is_fully_replicated()) continue;
    const auto [known, inserted] = annotations.try_emplace(roots[state]);
    if (inserted) known->second = annotation_of(roots[state]);
    origins[state] = {known->second, steps_[state].op};
  }
  return origins;
}

}  // namespace spmd
