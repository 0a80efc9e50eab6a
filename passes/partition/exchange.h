// Row exchanges as collective permutes and local ops.
#pragma once

#include "collectives/planning/exchange.h"
#include "ir/builder.h"
#include "sharding/atoms.h"

namespace spmd {

// What the sources of a line are on this rank: local tensors, alike but along the exchanged
// dimension, and scalars.
struct ExchangeSources {
  std::vector<ValueId> tensors, fillers;
};

// This rank's window along `dim`, of `window` rows: a tensor of `type` but for that size. `axes`
// cut the dimension; the plan's ranks are indices along them. Rows that the plan does not decide
// hold anything.
ValueId emit_exchange(Builder& builder, const ExchangePlan& plan, const ExchangeSources& sources,
                      TensorType type, int64_t window, int64_t dim, const AtomList& axes,
                      const AtomTable& atoms);

}  // namespace spmd
