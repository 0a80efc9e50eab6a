// FactorAssignment: which mesh axes shard which factor of an op, and what that asks of its operands
// and gives its results.
#pragma once

#include "sharding/atoms.h"
#include "sharding/rules/factor_rule.h"

namespace spmd {

// One list of axes per factor of a rule. An axis shards at most one factor.
struct FactorAssignment {
  std::vector<AtomList> axes;
  bool operator==(const FactorAssignment&) const = default;

  AtomMask mask() const {
    AtomMask mask = 0;
    for (const AtomList& list : axes) mask |= mask_of(list);
    return mask;
  }
};

// The factor axes that a tensor placed so has.
FactorAssignment project(const FactorRule& rule, const TensorFactors& tensor,
                         const Placement& placement, const AtomTable& atoms);

// `projected`, of a tensor placed so, with the axes of dimensions that every device needs whole on
// factors of the tensor and the results that pass through: on the longest that they divide, else on
// several, else on the longest of at least so many rows. nullopt where there are no such axes or
// factors.
std::optional<FactorAssignment> with_moved_axes(const FactorRule& rule, const TensorFactors& tensor,
                                                const Placement& placement,
                                                const FactorAssignment& projected,
                                                const AtomTable& atoms);

// Whether an operand's dimension, of an exchanged factor, need not be cut although the factor is:
// blocks follow those of another tensor.
bool may_stay_whole(const FactorRule& rule, size_t operand, size_t dim);

// Without the axes of exchanged factors.
FactorAssignment without_exchanges(const FactorRule& rule, FactorAssignment assignment);

// Drops axes that some tensor of the rule cannot show: those of a minor factor of a dimension, when
// the factors before it are not covered exactly or its own size does not divide.
void normalise(const FactorRule& rule, FactorAssignment& assignment, const AtomTable& atoms);

// Extends `base` by what `other` has beyond it, where no axis comes to shard two factors.
void merge(const FactorRule& rule, FactorAssignment& base, const FactorAssignment& other);

// Where a tensor's blocks are under an assignment; without partial axes.
Placement place(const FactorRule& rule, const TensorFactors& tensor,
                const FactorAssignment& assignment, const AtomTable& atoms);

// Axes along which results are partial: those of reduction factors, and of indexed factors that no
// result has.
AtomList partial_axes(const FactorRule& rule, const FactorAssignment& assignment);

// The assignment that the placements of an op's operands and results imply, for an op whose
// operands are placed as it needs them (after insert_reshards).
FactorAssignment assignment_of(const FactorRule& rule, const std::vector<Placement>& operands,
                               const std::vector<Placement>& results, const AtomTable& atoms);

}  // namespace spmd
