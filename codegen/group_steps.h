// Horizontal fusion: small steps that do the same to other memory become one Grouped step, which a
// GPU does in one launch. The optimizer's updates of all biases of one size are such steps, and so
// are the conversions of those to 16 bits: their launches take longer than their work.
#pragma once

#include <vector>

#include "codegen/buffers.h"
#include "codegen/fuse_rows.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// Groups steps of `body`, and of each sequence inside, whose CUDA kernels are the same text. What a
// group reads is there before it and what it writes is needed behind it: members move over steps
// that they have no conflict with. Members are independent of each other. Storages have their final
// numbers but no offsets; grouping that makes the arena larger is taken back. `notes`, when not
// null, gets one for each group.
void group_steps(plan::Sequence& body, const StorageTable& storages,
                 std::vector<FusionNote>* notes);

}  // namespace spmd::codegen
