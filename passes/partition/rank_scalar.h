// Scalars that depend on where a rank stands along mesh axes.
#pragma once

#include "ir/builder.h"
#include "sharding/atoms.h"

namespace spmd {

// This rank's index along the axes, as a scalar of `dtype`, times `scale`.
ValueId axis_offset(Builder& builder, const AtomList& axes, const AtomTable& atoms, DType dtype,
                    int64_t scale);

// values[i], as an i32 scalar, on ranks of index i along `axes`; where !matters[i], any value.
// A constant, a linear expression, one with bounds, or a look-up in a table: the first that fits.
ValueId rank_scalar(Builder& builder, const AtomList& axes, const AtomTable& atoms,
                    const std::vector<int64_t>& values, const std::vector<bool>& matters);

// The value that all entries that matter have; nullopt when they differ or none matters.
std::optional<int64_t> uniform(const std::vector<int64_t>& values,
                               const std::vector<bool>& matters);

}  // namespace spmd
