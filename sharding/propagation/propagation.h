// Sharding propagation: from the annotations of a program to a sharding of every value.
//
// Works on factors (sharding/rules/factor_rule.h), in rounds, each to a fix point of forward and
// backward sweeps, and never takes back what it decided:
//   1. Annotations are taken one priority at a time: user priorities first; without them, what the
//      program is fed (data, constraints) before what it keeps (state), so that the batch
//      dimension keeps its axes where both want them.
//   2. Within a priority, ops that only pass data through (elementwise, shape) come before all ops,
//      pass-through factors before reductions.
// Conflicts within an op are settled in favour of the factor that the largest tensor shards.
// (After Shardy's priority propagation, openxla/shardy docs/propagation.md.)
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"

namespace spmd {

// Where a value's axes came from.
struct ShardingOrigin {
  // Had by annotation: an argument, a result or a constraint, with its place. Empty: it has no
  // axes.
  std::string annotation;
  // The op next to the value that the last axes came through; none: the annotation is its own.
  OpId through = OpId::kNone;
};

// By value id.
using ShardingOrigins = std::vector<ShardingOrigin>;

// Gives every value of main() a closed sharding. Requires that calls are inlined. Annotated values
// keep their axes. Deterministic; linear in ops per sweep. `origins`, if not null, becomes the
// values' origins.
void propagate_shardings(Module& module, ShardingOrigins* origins = nullptr);

// A value that any placement costs nothing to make: a constant, an iota, the broadcast of a scalar.
// Propagation does not go through it, so that its users do not tie each other.
bool is_free_source(const Function& fn, ValueId value);

}  // namespace spmd
