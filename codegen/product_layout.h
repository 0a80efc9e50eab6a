// Products written in the order in which they are read.
//
// A gradient of a weight comes out of its product transposed, and an optimizer reads it beside the
// weight: neighbouring threads of that kernel would read elements that lie far apart. A library of
// products writes either order equally fast.
#pragma once

#include "codegen/buffers.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// Re-orders temporary storages that one Dot writes and only Elementwise steps read, none of them in
// the order in which they lie, for the first of those that reads all.
void lay_out_products(plan::Sequence& body, const StorageTable& storages);

}  // namespace spmd::codegen
