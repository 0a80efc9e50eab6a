#include "sharding/rules/rules.h"

namespace spmd::rules {

// The generator's bits depend on the whole result's shape, so every device makes all of them.
FactorRule random(const Function& fn, const Op& op) {
  FactorRule rule = empty_rule(fn, op);
  replicate_rest(fn, op, rule);
  return rule;
}

}  // namespace spmd::rules
