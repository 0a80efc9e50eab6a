// Scalars that depend on where a rank stands along mesh axes.
#pragma once

#include "collectives/planning/rank_function.h"
#include "ir/builder.h"
#include "sharding/atoms.h"

namespace spmd {

// This rank's index along the axes, as a scalar of `dtype`, times `scale`.
ValueId axis_offset(Builder& builder, const AtomList& axes, const AtomTable& atoms, DType dtype,
                    int64_t scale);

// The value of a rank's index along `axes`, as an i32 scalar; anything where there is none. A
// constant, a linear expression, one with bounds, or a look-up in a table: the first that fits.
ValueId rank_scalar(Builder& builder, const AtomList& axes, const AtomTable& atoms,
                    const RankFunction& values);

}  // namespace spmd
