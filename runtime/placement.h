// Where a rank's part of a tensor lies in the global tensor.
#pragma once

#include <functional>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/tensor.h"
#include "sharding/spec/axis.h"
#include "sharding/spec/mesh.h"

namespace spmd {

Mesh mesh_of(const plan::Plan& plan);
AxisList axes_of(const plan::AxisList& list);

// A box of the global tensor, and how much of the local block it fills; the rest is padding.
struct LocalBlock {
  std::vector<int64_t> start;  // in the global tensor
  std::vector<int64_t> size;   // within local_shape; 0 where the block lies in the padding
};

LocalBlock block_of(const plan::Placement& placement, const Mesh& mesh, int64_t device);

// Visits the rows (along the last dimension) of a block: visit(global offset, local offset, count),
// in elements.
using RowVisitor = std::function<void(int64_t global, int64_t local, int64_t count)>;
void for_each_row(const plan::Placement& placement, const LocalBlock& block,
                  const RowVisitor& visit);

// Copies a device's block out of the global tensor's bytes and back, without the padding.
void cut_block(const plan::Placement& placement, const LocalBlock& block, const std::byte* global,
               std::byte* local);
void paste_block(const plan::Placement& placement, const LocalBlock& block, const std::byte* local,
                 std::byte* global);

// The mesh axes that cut the tensor, major to minor by dimension.
AxisList cutting_axes(const plan::Placement& placement);

}  // namespace spmd
