// Outputs that nobody reads.
#pragma once

#include "codegen/buffers.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// Drops outputs of the Elementwise steps of `body` itself, and of those in its Fused steps, that go
// to arena storages which nothing reads, with what only they need; steps without outputs go away.
void drop_unread_outputs(plan::Sequence& body, const StorageTable& storages);

}  // namespace spmd::codegen
