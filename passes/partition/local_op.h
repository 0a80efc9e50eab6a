// Ops on resized operands: per-rank shapes, or padded ones.
#pragma once

#include "ir/builder.h"
#include "passes/partition/assignment.h"

namespace spmd {

// One op about to be created anew. `operands` are the new values; `types` the new result types;
// `attrs` start as the old op's. Without axes in `assignment` the op only changes sizes.
struct LocalOp {
  const Function& global;
  const Op& op;
  const FactorRule& rule;
  const FactorAssignment& assignment;
  const AtomTable& atoms;
  Builder& builder;
  std::vector<ValueId> operands;
  std::vector<TensorType> types;
  Attrs attrs;

  // Axes that shard a dimension of the global operand, through its factors.
  AtomList operand_axes(size_t operand, int64_t dim) const;
};

// Creates the op and returns its results. Attributes that hold sizes follow the new operands;
// indexed gathers and scatters get the indices of this rank's block (a gather's result is then
// masked, and partial). Regions are left to the caller: the created op is in `created`, kNone when
// there is nothing to fill.
struct LocalResult {
  std::vector<ValueId> values;
  OpId created = OpId::kNone;
};
LocalResult create_local(LocalOp& local);

// This rank's index along the axes, as a scalar of `dtype`, times `scale`.
ValueId axis_offset(Builder& builder, const AtomList& axes, const AtomTable& atoms, DType dtype,
                    int64_t scale);

// Of the indexing family; used by create_local().
ValueId create_local_gather(LocalOp& local);
void localize_scatter(LocalOp& local);
void localize_dynamic_slice(LocalOp& local);

}  // namespace spmd
