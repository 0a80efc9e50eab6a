// Ops on resized operands: per-rank shapes, or padded ones.
#pragma once

#include "ir/builder.h"
#include "passes/partition/assignment.h"
#include "passes/partition/rank_scalar.h"

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
// indexed gathers, scatters and dynamic slices get the indices of this rank's block (what is read
// is then masked, and partial). Regions are left to the caller: the created op is in `created`,
// kNone when there is nothing to fill.
struct LocalResult {
  std::vector<ValueId> values;
  OpId created = OpId::kNone;
};
LocalResult create_local(LocalOp& local);

// Axes that shard a dimension of the operand that indices address. Along a dimension that slices
// span, every index means the same place on every rank.
AtomList indexed_axes(const LocalOp& local, int64_t dim);

// What a rank adds to a sum of which it has no part: a negative zero, which leaves zeros of either
// sign as they are.
ValueId nothing_of(Builder& builder, const TensorType& type);

// By family; used by create_local().
void localize_slice(LocalOp& local);
void localize_convolution(LocalOp& local);
ValueId create_local_gather(LocalOp& local);
LocalResult create_local_scatter(LocalOp& local);
ValueId create_local_dynamic_slice(LocalOp& local);
ValueId create_local_dynamic_update_slice(LocalOp& local);

}  // namespace spmd
