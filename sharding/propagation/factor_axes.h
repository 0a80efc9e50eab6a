// From dimensions to factors and back: which axes of a dimension belong to which of its factors.
#pragma once

#include <span>

#include "sharding/atoms.h"
#include "sharding/rules/factor_rule.h"

namespace spmd {

// Distributes the axes of one dimension over its factors, major to minor: a factor takes axes until
// they cover its size; a minor factor gets any only when all factors before it are covered exactly,
// for only then are its blocks contiguous in the dimension. Returns one list per factor of the
// dimension; axes that fit nowhere are dropped.
std::vector<AtomList> axes_of_factors(const AtomList& dim_axes, const DimFactors& factors,
                                      std::span<const Factor> table, const AtomTable& atoms);

// The inverse: joins the axes of the factors of one dimension. Axes of a minor factor are dropped
// where a factor before it is not covered exactly.
AtomList axes_of_dim(const DimFactors& factors, std::span<const Factor> table,
                     const std::vector<AtomList>& axes_by_factor, const AtomTable& atoms);

}  // namespace spmd
