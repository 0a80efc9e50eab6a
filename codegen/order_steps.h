// The order of steps, for memory.
#pragma once

#include <vector>

#include "codegen/buffers.h"
#include "codegen/coalesce.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// Moves steps forward to where they take less memory than they give back: what is the last to read
// a temporary storage of at least as many bytes as it begins to use, and reductions to a small part
// of what they read. So a weight's gradient is made, and its optimizer's step done, as soon as the
// backward pass has come there, and what it is made of need not be kept. All other steps stay in
// their order, collectives, loops and branches among them. Inside of loops and branches the same.
// A step that makes the new value of an aliased argument stays behind all that read the old one.
void order_steps(plan::Sequence& body, const StorageTable& storages,
                 const std::vector<AliasedPair>& aliased);

}  // namespace spmd::codegen
